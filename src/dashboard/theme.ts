import { type Signal, signal } from '@preact/signals';

const themeKey = 'holdfast-theme';
const themes = ['system', 'light', 'dark'] as const;

/** Light, dark, or what the system says. */
type Theme = (typeof themes)[number];

/** The chosen theme, stored by the browser. */
export const theme: Signal<Theme> = signal(
  themes.find((one) => one === localStorage.getItem(themeKey)) ?? 'system',
);

/** Rises when the system changes between light and dark. */
export const systemChanges = signal(0);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  systemChanges.value += 1;
});

/** A colour of the style sheet as it is now, for what is drawn: `rgb(...)`. */
export function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Shows what is chosen. */
export function showTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset.theme;
  else dataset.theme = theme.value;
}

/** The next one in turn. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  localStorage.setItem(themeKey, theme.value);
  showTheme();
}
