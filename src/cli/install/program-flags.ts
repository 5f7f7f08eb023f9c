import { type Command, InvalidArgumentError, type Option } from 'commander';

/** Values of flags of `holdfast run` by name, without dashes. `true`: a flag without a value. */
export type ProgramFlags = Readonly<Record<string, string | true>>;

/** Set by options of `install`, or by the pod itself. */
const takenFlags = new Set([
  'listen',
  'probe-listen',
  'dashboard-listen',
  'dashboard-proxy-secret',
  'data-dir',
  'source',
  'kubeconfig',
  'namespace',
  'watch-namespaces',
  'default-service-account',
  'trusted-source-namespaces',
  'cross-namespace-refs',
  'no-cross-namespace-refs',
  'ingress-class',
]);

/** The flags of `holdfast run` that an installation may set (`install --flag`, the chart's `flags`). */
export function settableFlags(run: Command): Option[] {
  return run.options.filter((option) => !takenFlags.has(nameOf(option)));
}

/** Its name without dashes. */
export function nameOf(option: Option): string {
  return (option.long ?? '').slice('--'.length);
}

/** A flag that is there or not. */
export function isSwitch(option: Option): boolean {
  return !option.required && !option.optional;
}

/** Reads `name=value`, and checks it as `holdfast run` will. Throws InvalidArgumentError. */
export function programFlag(run: Command, text: string): ProgramFlags {
  const [, name = '', value] = /^(?:--)?([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const option = settableFlags(run).find((one) => nameOf(one) === name);
  if (takenFlags.has(name))
    throw new InvalidArgumentError(`--${name} is set by install; use its own options (install --help).`);
  if (!option) throw new InvalidArgumentError('holdfast run has no such flag (run --help).');
  if (isSwitch(option)) {
    if (value === undefined || value === 'true') return { [name]: true };
    throw new InvalidArgumentError(`--${name} takes no value.`);
  }
  if (!value) throw new InvalidArgumentError(`--${name} needs a value.`);
  option.parseArg?.(value, undefined);
  const { argChoices } = option;
  if (argChoices && !argChoices.includes(value))
    throw new InvalidArgumentError(`must be one of ${argChoices.join(', ')}.`);
  return { [name]: value };
}

/** As the program takes them, by name. */
export function flagArguments(flags: ProgramFlags): string[] {
  return Object.entries(flags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));
}
