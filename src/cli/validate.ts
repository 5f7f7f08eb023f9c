import type { KubernetesObject } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import type { Source } from '../api/source.ts';
import { type RenderResult, renderPlain } from '../render/render.ts';
import type { FileProblem, RenderedObject, SourceFile } from '../render/types.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import { readLocalFiles } from './validate-files.ts';
import { type KindOptions, kindOf, remarksOn, type Severity } from './validate-kinds.ts';
import { namespaceFindings, referenceFindings } from './validate-references.ts';
import { type Finding, releaseFindings } from './validate-releases.ts';

/** What `holdfast validate` is asked for. */
export interface ValidateOptions extends Partial<KindOptions> {
  readonly paths: readonly string[];
  readonly selectorLabels?: readonly string[];
}

/** What it found, in the order of files and lines. */
export interface Validation {
  readonly files: number;
  readonly objects: number;
  readonly findings: readonly Finding[];
}

/** Reads the files as a Source would and says everything that Holdfast would refuse, doubt or leave undone. No cluster is asked. */
export async function validate(options: ValidateOptions): Promise<Validation> {
  const local = await readLocalFiles(options.paths);
  const kinds: KindOptions = {
    strict: options.strict ?? false,
    defaultProvider: options.defaultProvider ?? 'kubernetes',
    minIntervalMs: options.minIntervalMs ?? limits.minAnalysisIntervalMs,
    forbidsOtherNamespaces: options.forbidsOtherNamespaces ?? false,
  };
  const { rendered, sources, unbuilt } = render(local.files);
  const broken = [...local.problems, ...unbuilt, ...rendered.problems];
  const selectorLabels = options.selectorLabels ?? defaultSelectorLabels;
  const complete = sources.length > 0;
  const findings = [
    ...broken.map((problem): Finding => ({ ...problem, severity: 'problem' })),
    ...rendered.objects.flatMap((entry) => objectFindings(entry, rendered, kinds)),
    ...namespaceFindings(rendered, complete),
    ...referenceFindings(rendered),
    ...releaseFindings(rendered, broken, { complete, selectorLabels }),
  ];
  if (local.files.length === 0 && local.problems.length === 0)
    findings.push({
      file: options.paths.join(', '),
      line: 0,
      message: 'holds no .yaml, .yml or .json file',
      severity: 'problem',
    });
  return { files: local.files.length, objects: rendered.objects.length, findings: sorted(findings) };
}

/** With the default namespace of the Source among the files, if there is one. */
function render(all: readonly SourceFile[]): {
  rendered: RenderResult;
  sources: Source[];
  unbuilt: FileProblem[];
} {
  const files = all.filter(({ path }) => !isKustomization(path));
  const first = renderPlain(files);
  const sources = first.objects.map(({ object }) => object).filter(isSource);
  const namespaces = new Set(sources.map(({ spec }) => spec?.defaultNamespace).filter(Boolean));
  const [defaultNamespace] = namespaces.size === 1 ? namespaces : [];
  const rendered = defaultNamespace
    ? renderPlain(files, { defaultNamespace, isNamespaced: (_, kind) => !clusterKinds.test(kind) })
    : first;
  const plain = sources.length > 0 && sources.every(({ spec }) => spec?.renderer === 'plain');
  const kustomization = plain ? undefined : all.find(({ path }) => isKustomization(path));
  const unbuilt = kustomization ? [kustomizeProblem(kustomization.path)] : [];
  return { rendered, sources, unbuilt };
}

const clusterKinds =
  /^(Namespace|Node|PersistentVolume|CustomResourceDefinition|APIService|GatewayClass|(Cluster|Storage|Priority|Ingress|Runtime).+|.+(WebhookConfiguration|AdmissionPolicy|AdmissionPolicyBinding))$/;

function isSource(object: KubernetesObject): object is Source {
  return kindOf(object) === 'Source';
}

function isKustomization(path: string): boolean {
  return /(?:^|[/\\])kustomization\.ya?ml$/.test(path);
}

function kustomizeProblem(file: string): FileProblem {
  const message =
    'this folder is built with kustomize, which this version cannot render; set spec.renderer: plain in the Source to apply its files as they are';
  return { file, line: 0, message };
}

function objectFindings(
  { object, origin }: RenderedObject,
  { lineOf }: RenderResult,
  options: KindOptions,
): Finding[] {
  return remarksOn(object, options).map(({ path, message, severity }) => ({
    file: origin.file,
    line: path ? lineOf(origin, path) : origin.line,
    ...(path ? { field: path } : {}),
    message,
    severity,
  }));
}

const order: readonly Severity[] = ['problem', 'warning', 'note'];

/** By file and line; what two checks found alike is told once. */
function sorted(findings: readonly Finding[]): Finding[] {
  const unique = new Map<string, Finding>();
  for (const finding of findings) {
    const { file, line, field, message } = finding;
    const key = JSON.stringify([file, line, field, message]);
    const known = unique.get(key);
    if (!known || order.indexOf(finding.severity) < order.indexOf(known.severity)) unique.set(key, finding);
  }
  return [...unique.values()].sort(
    (a, b) =>
      compare(a.file, b.file) || a.line - b.line || order.indexOf(a.severity) - order.indexOf(b.severity),
  );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
