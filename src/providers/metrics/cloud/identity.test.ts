/** CloudWatch and Cloud Monitoring without a Secret: the identity of Holdfast's own pod, where an operator lends it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { MetricTemplate } from '../../../api/metric-template.ts';
import { createHttpClient } from '../../../http/client.ts';
import { startTestServer } from '../../../http/testing/servers.ts';
import type { MetricAccess, MetricHttp } from '../provider.ts';
import { readMetric } from '../read-metric.ts';
import { type AskedOf, askedOf, doubles, nowMs } from '../testing/doubles.ts';

const closers: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const canary = {
  metadata: { name: 'web', namespace: 'shop' },
  spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, service: { port: 80 } },
} as Canary;

type Answers = Readonly<Record<string, (asked: AskedOf) => string | undefined>>;

/** One server in place of all hosts of a cloud: what each was asked, by `host/path`. */
async function aCloud(answers: Answers) {
  const asked: string[] = [];
  const server = await startTestServer(async (request, response) => {
    const one = await askedOf(request);
    const at = `${one.headers['x-meant-for']}${one.url.pathname}`;
    asked.push(at);
    const answer = answers[at]?.(one);
    response.writeHead(answer === undefined ? 403 : 200);
    response.end(answer);
  });
  const client = createHttpClient({ allowLoopback: true });
  closers.push(async () => {
    await client.close();
    await server.close();
  });
  const http: MetricHttp = {
    send(request) {
      const url = new URL(request.url);
      const headers = { ...request.headers, 'x-meant-for': url.host, host: url.host };
      return client.send({ ...request, url: `${server.url}${url.pathname}${url.search}`, headers });
    },
  };
  return { asked, http };
}

function read(type: 'cloudwatch' | 'stackdriver', access: MetricAccess, address?: string) {
  const double = doubles.find((one) => one.type === type);
  const provider = { type, ...double?.provider, ...(address ? { address } : {}) };
  const template = {
    metadata: { name: 'errors', namespace: 'shop' },
    spec: { provider, query: double?.query },
  } as MetricTemplate;
  const metric = { name: 'errors', templateRef: { name: 'errors' } };
  const source = { canary, metric, role: 'canary', provider: 'contour', metricsServer: '', nowMs } as const;
  return readMetric({ ...source, template, timeoutMs: 5_000 }, access);
}

const keys = {
  aws_access_key_id: 'AKIDOFPOD',
  aws_secret_access_key: 'secret/of+the/pod=',
  aws_session_token: 'session/of+the/pod==',
};

/** CloudWatch, for requests that these keys signed. */
const monitoring: Answers = {
  'monitoring.eu-north-1.amazonaws.com/': (asked) => {
    const double = doubles.find(({ type }) => type === 'cloudwatch');
    return double?.isLetIn(asked, keys) ? double.answer([12.5]) : undefined;
  },
};

const ofEndpoint = JSON.stringify({
  Code: 'Success',
  AccessKeyId: keys.aws_access_key_id,
  SecretAccessKey: keys.aws_secret_access_key,
  Token: keys.aws_session_token,
});

function file(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'holdfast-identity-')), 'token');
  writeFileSync(path, `${text}\n`);
  return path;
}

describe('CloudWatch without a Secret uses, where the identity of the pod is lent,', () => {
  it('the keys of the environment', async () => {
    const { http } = await aCloud(monitoring);
    const environment = {
      AWS_ACCESS_KEY_ID: keys.aws_access_key_id,
      AWS_SECRET_ACCESS_KEY: keys.aws_secret_access_key,
      AWS_SESSION_TOKEN: keys.aws_session_token,
    };
    const reading = await read('cloudwatch', { ...http, identity: { http, environment } });
    expect(reading).toEqual({ kind: 'value', value: 12.5 });
  });

  const credentials = { AccessKeyId: keys.aws_access_key_id, SecretAccessKey: keys.aws_secret_access_key };
  const asJson = JSON.stringify({
    AssumeRoleWithWebIdentityResponse: {
      AssumeRoleWithWebIdentityResult: {
        Credentials: { ...credentials, SessionToken: keys.aws_session_token, Expiration: 1.8e9 },
      },
    },
  });
  const asXml = `<Credentials><SessionToken>${keys.aws_session_token}</SessionToken><SecretAccessKey>${keys.aws_secret_access_key}</SecretAccessKey><AccessKeyId>${keys.aws_access_key_id}</AccessKeyId></Credentials>`;
  it.each([
    ['JSON', asJson],
    ['XML', asXml],
  ])('a role of a web identity (IRSA), answered in %s', async (_, answer) => {
    const { http } = await aCloud({
      ...monitoring,
      'sts.eu-north-1.amazonaws.com/': ({ body }) => {
        const form = new URLSearchParams(body);
        const isRight =
          form.get('Action') === 'AssumeRoleWithWebIdentity' &&
          form.get('RoleArn') === 'arn:aws:iam::123456789012:role/holdfast' &&
          form.get('WebIdentityToken') === 'token-of-the-account';
        return isRight ? answer : undefined;
      },
    });
    const environment = {
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/holdfast',
      AWS_WEB_IDENTITY_TOKEN_FILE: file('token-of-the-account'),
    };
    const reading = await read('cloudwatch', { ...http, identity: { http, environment } });
    expect(reading).toEqual({ kind: 'value', value: 12.5 });
  });

  it('a role that STS refuses, and tells why', async () => {
    const refusal = {
      Error: {
        Code: 'AccessDenied',
        Message: 'Not authorized to perform sts:AssumeRoleWithWebIdentity',
        Type: 'Sender',
      },
      RequestId: 'a',
    };
    const http = {
      send: async () => ({ status: 403, headers: {}, body: Buffer.from(JSON.stringify(refusal)) }),
    };
    const environment = { AWS_ROLE_ARN: 'arn', AWS_WEB_IDENTITY_TOKEN_FILE: file('token-of-the-account') };
    expect(await read('cloudwatch', { ...http, identity: { http, environment } })).toEqual({
      kind: 'error',
      detail:
        'sts.eu-north-1.amazonaws.com gives no AWS credentials: HTTP 403: AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity',
    });
  });

  it('the endpoint of a container (EKS Pod Identity, ECS)', async () => {
    const { http } = await aCloud({
      ...monitoring,
      '169.254.170.23/v1/credentials': ({ headers }) =>
        headers.authorization === 'token-of-the-pod' ? ofEndpoint : undefined,
      '169.254.170.2/v2/task': () => ofEndpoint,
    });
    const eks = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file('token-of-the-pod'),
    };
    const ecs = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/task' };
    for (const environment of [eks, ecs])
      expect(await read('cloudwatch', { ...http, identity: { http, environment } })).toEqual({
        kind: 'value',
        value: 12.5,
      });
  });

  it('the role of the machine (IMDSv2)', async () => {
    const roles = '169.254.169.254/latest/meta-data/iam/security-credentials/';
    const hasSession = ({ headers }: AskedOf) => headers['x-aws-ec2-metadata-token'] === 'a-session';
    const { http } = await aCloud({
      ...monitoring,
      '169.254.169.254/latest/api/token': ({ method, headers }) =>
        method === 'PUT' && headers['x-aws-ec2-metadata-token-ttl-seconds'] ? 'a-session' : undefined,
      [roles]: (asked) => (hasSession(asked) ? 'nodes' : undefined),
      [`${roles}nodes`]: (asked) => (hasSession(asked) ? ofEndpoint : undefined),
    });
    const reading = await read('cloudwatch', { ...http, identity: { http, environment: {} } });
    expect(reading).toEqual({ kind: 'value', value: 12.5 });
  });
});

describe('Cloud Monitoring without a Secret', () => {
  it('uses the service account and the project of the pod, where its identity is lent', async () => {
    const metadata = 'metadata.google.internal/computeMetadata/v1';
    const double = doubles.find(({ type }) => type === 'stackdriver');
    const ofGoogle = (text: string) => (asked: AskedOf) =>
      asked.headers['metadata-flavor'] === 'Google' ? text : undefined;
    const { http } = await aCloud({
      [`${metadata}/instance/service-accounts/default/token`]: ofGoogle(
        '{"access_token": "token-of-the-pod"}',
      ),
      [`${metadata}/project/project-id`]: ofGoogle('shop-project'),
      'monitoring.googleapis.com/v3/projects/shop-project/timeSeries:query': ({ headers }) =>
        headers.authorization === 'Bearer token-of-the-pod' ? double?.answer([12.5]) : undefined,
    });
    const reading = await read('stackdriver', { ...http, identity: { http, environment: {} } });
    expect(reading).toEqual({ kind: 'value', value: 12.5 });
  });
});

describe.each(['cloudwatch', 'stackdriver'] as const)('%s without a Secret', (type) => {
  it('sends no request when the identity of the pod may not be used', async () => {
    const { asked, http } = await aCloud({});
    expect(await read(type, http)).toEqual({
      kind: 'error',
      detail:
        'the template names no Secret, and the cloud identity of Holdfast is used only if it runs with --cloud-identity',
    });
    expect(asked).toEqual([]);
  });

  it('never takes that identity to an address that the template names', async () => {
    const { asked, http } = await aCloud({});
    const access = { ...http, identity: { http, environment: {} } };
    const reading = await read(type, access, 'https://evil.example.com');
    expect(reading).toMatchObject({
      kind: 'error',
      detail: expect.stringContaining('without an address only'),
    });
    expect(asked).toEqual([]);
  });
});
