import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTemplate } from './template.ts';

const values = {
  name: 'podinfo',
  namespace: 'shop',
  target: 'podinfo-primary',
  interval: '1m',
  variables: {
    color: 'blue',
    empty: '',
    evil: 'x"} or vector(1) #',
    pattern: 'a\\.b',
    tail: 'x\\',
    escaped: '\\"} or vector(100) #',
    raw: 'x` or vector(1) #',
  },
};

describe('a query template', () => {
  it.each([
    ['{{ namespace }}/{{name}}', 'shop/podinfo'],
    ['rate(x{pod=~"{{ target }}-.*"}[{{ interval }}])', 'rate(x{pod=~"podinfo-primary-.*"}[1m])'],
    ['{{ variables.color }}', 'blue'],
    ['{{ index variables "color" }}', 'blue'],
    ['{{ or (index variables "shade") "light" }}', 'light'],
    ['a  {{- name -}}  b', 'apodinfob'],
    ['a {{- /* a comment }} */ -}} b', 'ab'],
    [
      '{{ $q := printf "%s_%s" namespace name }}{{ $q }}{{ $q | printf "<%s>" }}',
      'shop_podinfo<shop_podinfo>',
    ],
    ['{{ $q := "a" }}{{ if true }}{{ $q = "b" }}{{ $q := "c" }}{{ end }}{{ $q }}', 'b'],
    ['{{ if eq namespace "shop" }}yes{{ else }}no{{ end }}', 'yes'],
    ['{{ if variables.empty }}1{{ else if ne name "x" }}2{{ else }}3{{ end }}', '2'],
    ['{{ if and (eq name "podinfo") (not (eq interval "5m")) }}x{{ end }}', 'x'],
    ['{{ or variables.empty "default" }}', 'default'],
    ['{{ `raw "text"` }}{{ "\\"q\\"" }}{{ printf "%d%%%q" 5 "x" }}', 'raw "text""q"5%"x"'],
    ['{{ variables.evil }}', 'x"} or vector(1) #'],
    ['label="{{ variables.pattern }}"', 'label="a\\.b"'],
    [
      '{a="b"} |= `{{ variables.tail }}` | c="{{ variables.raw }}"',
      '{a="b"} |= `x\\` | c="x` or vector(1) #"',
    ],
    ['no action at all', 'no action at all'],
  ])('renders %s', (template, text) => {
    expect(renderTemplate(template, values)).toBe(text);
  });

  it.each([
    ['{{ name', 'line 1, column 1: this action has no end'],
    [
      'a\nb {{ nope }}',
      'line 2, column 6: nope is unknown; must be one of name, namespace, target, interval, variables',
    ],
    ['{{ variables.nope }}', 'line 1, column 4: there is no variable nope; set it in templateVariables'],
    ['{{ variables }}', 'a map cannot be printed'],
    ['{{ name.x }}', 'a string has no entry x'],
    ['{{ range x }}{{ end }}', 'line 1, column 4: range is not supported in queries: write out each value'],
    ['{{ range x }}{{ . }}{{ end }}', 'line 1, column 4: range is not supported in queries'],
    ['{{ with x }}{{ len . }}{{ end }}', 'with is not supported in queries: use {{ if VALUE }}'],
    ['{{ len . }}', '"." is not supported here: a value is named without a dot'],
    ['{{ len name }}', 'len is not a function; there are printf'],
    ['{{ if true }}x', 'this if has no matching end'],
    ['{{ end }}', 'end has no if'],
    ['{{ if true }}{{ else }}{{ else }}{{ end }}', 'this if has more than one else'],
    ['{{ }}', 'this action is empty'],
    ['{{ $x }}', '$x is unknown'],
    ['{{ $x = 1 }}', '$x is not declared; use :='],
    ['{{ .Name }}', '".Name" is not supported here'],
    ['{{ $.x }}', '"$" is not supported here'],
    ['{{ name | }}', 'a value is missing'],
    ['{{ (name }}', 'a closing parenthesis is missing'],
    ['{{ name) }}', 'a closing parenthesis has no opening one'],
    ['{{ name "x" }}', 'name is not a function; there are printf, print'],
    ["{{ 'x' }}", '"\'" is not expected here'],
    ['{{ "\\x41" }}', 'the escape \\x is not supported'],
    ['{{ printf "%s" }}', 'printf: %s has no value'],
    ['{{ printf "%s" 1 2 }}', 'printf: 1 values too many'],
    ['{{ printf "%x" 1 }}', 'printf: %x is not supported'],
    ['x{a="{{ variables.evil }}"}', 'line 1, column 6: this value holds ", a line break or a last backslash'],
    ['x{a="{{ variables.tail }}"}', 'would end the quotes around it'],
    ['x{a="\\{{ variables.escaped }}"}', 'would end the quotes around it'],
    ['{a="b"} |= `{{ variables.raw }}`', 'line 1, column 13: this value holds `, a line break'],
    ['{a="b"} |= `say "` | c="{{ variables.evil }}"', 'line 1, column 25: this value holds "'],
    ['{{ constructor }}', 'constructor is unknown'],
    ['{{ variables.toString }}', 'there is no variable toString'],
    [`{{ if ${'('.repeat(200)}}}`, 'parentheses are nested deeper than 20'],
    ['{{ if true }}'.repeat(30), 'blocks are nested deeper than 20'],
  ])('refuses %s with its position', (template, message) => {
    expect(() => renderTemplate(template, values)).toThrow(message);
  });

  it('refuses what is too long before and after rendering', () => {
    expect(() => renderTemplate('x'.repeat(65_537), values)).toThrow('longer than 65536');
    expect(() =>
      renderTemplate('{{ variables.a }}'.repeat(70), { variables: { a: 'x'.repeat(1_000) } }),
    ).toThrow('the rendered query is longer than 65536');
  });

  it.each([
    ['is doubled again and again', '{{ $x = print $x $x }}'.repeat(18)],
    ['is printed many times at once', `{{ $x = print${' $x'.repeat(18_000)} }}`],
    ['fills many places of a format', `{{ $x = printf "${'%s'.repeat(8_000)}"${' $x'.repeat(8_000)} }}`],
  ])('refuses a variable that %s, although none of it is asked', (_, growth) => {
    const template = `{{ $x := "${'x'.repeat(200)}" }}${growth}up`;
    expect(() => renderTemplate(template, values)).toThrow('given more than 1000000 characters');
  });

  it('leaves text without actions as it is, and never fails in another way than with its own error', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            '{{',
            '}}',
            '-',
            ' ',
            'name',
            '"',
            '|',
            'if',
            'end',
            '$x',
            ':=',
            '\n',
            '(',
            ')',
          ),
        }),
        (template) => {
          try {
            const text = renderTemplate(template, values);
            if (!template.includes('{{')) expect(text).toBe(template);
          } catch (error) {
            expect((error as Error).name).toBe('TemplateError');
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('comes to an end with hostile templates of full length', () => {
    expect(() => renderTemplate(`{{ "${'\\'.repeat(60_000)}`, values)).toThrow('has no end');
    expect(() => renderTemplate(`{{ ${'/*'.repeat(30_000)}`, values)).toThrow('has no end');
    expect(() => renderTemplate('{{/*}}'.repeat(10_900), values)).toThrow('has no end');
    expect(renderTemplate('{{ name }}"'.repeat(5_000), values)).toHaveLength(40_000);
  });
});
