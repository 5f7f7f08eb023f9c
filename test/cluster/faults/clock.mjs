// Loaded before Holdfast: the machine's wall clock is off by CLOCK_OFFSET_MS, and each SIGUSR2 moves it by CLOCK_STEP_MS. The monotonic clock goes on.
const RealDate = Date;
let offsetMs = Number(process.env.CLOCK_OFFSET_MS ?? 0);
process.on('SIGUSR2', () => {
  offsetMs += Number(process.env.CLOCK_STEP_MS ?? 0);
});
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offsetMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};
