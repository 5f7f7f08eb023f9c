/** What the bed has in place of what the examples name; everything else is played as it stands in the repository. */
export interface BedNames {
  readonly gitBaseUrl: string;
  readonly prometheusUrl: string;
  readonly gateway: { readonly name: string; readonly namespace: string };
}

/** A file or README of an example with the bed's Git server, its program in place of podinfo, its Gateway and Prometheus. */
export function bedNames(text: string, { gitBaseUrl, prometheusUrl, gateway }: BedNames): string {
  return text
    .replaceAll('https://git.example.com/acme/', `${gitBaseUrl}/examples-`)
    .replaceAll('stefanprodan/podinfo', 'app')
    .replaceAll('path: /readyz', 'path: /ready')
    .replaceAll('http://prometheus.monitoring:9090', prometheusUrl)
    .replaceAll(
      /name: public\n(\s*)namespace: gateway-system/g,
      `name: ${gateway.name}\n$1namespace: ${gateway.namespace}`,
    );
}

/** The same with intervals of seconds. Nothing but these values differs. */
export function bedVersion(text: string, names: BedNames): string {
  return (
    bedNames(text, names)
      .replaceAll(/\binterval: (15|30)s/g, 'interval: 2s')
      .replaceAll(/\binterval: 1m/g, 'interval: 5s')
      // A canary may be slow on a busy machine; what waits for the primary to fail waits for the shorter one.
      .replaceAll(/progressDeadlineSeconds: \d+/g, 'progressDeadlineSeconds: 30')
      .replaceAll(/^( *)postPromotion:$/gm, '$1postPromotion:\n$1  progressDeadlineSeconds: 8')
  );
}
