import { type Signal, signal } from '@preact/signals';

const themeKey = 'holdfast-theme';
const themes = ['system', 'light', 'dark'] as const;

/** Light, dark, or what the system says. */
type Theme = (typeof themes)[number];

/** What is chosen; kept by the browser. */
export const theme: Signal<Theme> = signal(
  themes.find((one) => one === localStorage.getItem(themeKey)) ?? 'system',
);

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
