/** Requests signed for AWS (Signature Version 4), with the keys of a Secret or of the pod's own identity. */
import { createHash, createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { HttpRequest } from '../../../http/types.ts';
import { type CloudIdentity, lent, type MetricAccess, type MetricRequest } from '../provider.ts';
import { refusalOf, secretValue } from '../rest.ts';

/** Keys that sign. */
interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What is signed. */
interface Unsigned {
  readonly url: URL;
  readonly service: string;
  readonly region: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The headers of a signed POST. The library is AWS's, and loaded when it is needed. */
export async function signed(
  { url, service, region, headers, body }: Unsigned,
  keys: AwsKeys,
  nowMs: number,
): Promise<Record<string, string>> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const signer = new SignatureV4({ service, region, credentials: keys, sha256: Sha256 });
  const request = {
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { ...headers, host: url.host },
    body,
  };
  const { headers: all } = await signer.sign(request, { signingDate: new Date(nowMs) });
  const { host: _, ...others } = all;
  return others;
}

/** The interface of a hash in the library. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    const key = secret === undefined || typeof secret === 'string' ? secret : bytesOf(secret);
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Keys of the template's Secret, else those of the pod if they may be used. Throws when there are none. */
export async function awsKeys(
  request: MetricRequest,
  region: string,
  identity: MetricAccess['identity'],
): Promise<AwsKeys> {
  if (request.secret) {
    const sessionToken = request.secret.aws_session_token?.trim();
    return {
      accessKeyId: secretValue(request, 'aws_access_key_id'),
      secretAccessKey: secretValue(request, 'aws_secret_access_key'),
      ...(sessionToken ? { sessionToken } : {}),
    };
  }
  return keysOfPod(lent(request, identity), region, request);
}

/** In the order of AWS's own libraries: variables, a web identity (EKS), a container's endpoint (ECS, EKS), the machine. */
async function keysOfPod(identity: CloudIdentity, region: string, asked: MetricRequest): Promise<AwsKeys> {
  const { environment } = identity;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile } = environment;
  const ask = async (request: HttpRequest): Promise<string> => {
    const answer = await identity.http.send({ ...request, limits: { totalTimeoutMs: asked.timeoutMs } });
    if (answer.status === 200) return Buffer.from(answer.body).toString('utf8');
    throw new Error(`${new URL(request.url).host} gives no AWS credentials: ${refusalOf(answer)}`);
  };
  if (accessKeyId && secretAccessKey) {
    const sessionToken = environment.AWS_SESSION_TOKEN;
    return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
  }
  if (role && tokenFile) {
    const url = new URL(`https://sts.${region}.${awsDomain(region)}/`);
    const question = {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: 'holdfast',
      WebIdentityToken: (await readFile(tokenFile, 'utf8')).trim(),
    };
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    return keysIn(
      await ask({ url, method: 'POST', headers, body: new URLSearchParams(question).toString() }),
    );
  }
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_CREDENTIALS_FULL_URI: whole } =
    environment;
  const container = path ? `http://169.254.170.2${path}` : whole;
  if (container) {
    const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
    const token = file
      ? (await readFile(file, 'utf8')).trim()
      : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN;
    return keysIn(await ask({ url: container, headers: token ? { authorization: token } : {} }));
  }
  const machine = 'http://169.254.169.254/latest';
  const lifetime = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
  const session = await ask({ url: `${machine}/api/token`, method: 'PUT', headers: lifetime });
  const headers = { 'x-aws-ec2-metadata-token': session };
  const roles = `${machine}/meta-data/iam/security-credentials/`;
  const [name = ''] = (await ask({ url: roles, headers })).trim().split('\n');
  return keysIn(await ask({ url: `${roles}${encodeURIComponent(name)}`, headers }));
}

/** The domain of a region's partition. */
export function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

/** Of the endpoints' JSON, and of STS's, which is XML where it does not heed `accept`. */
function keysIn(text: string): AwsKeys {
  const [accessKeyId, secretAccessKey, token, session] = [
    'AccessKeyId',
    'SecretAccessKey',
    'Token',
    'SessionToken',
  ].map((name) => new RegExp(`[<"]${name}(?:>|"\\s*:\\s*")([\\w/+=-]+)`).exec(text)?.[1]);
  if (!accessKeyId || !secretAccessKey)
    throw new Error('the answer of the credential endpoint holds no keys');
  const sessionToken = token ?? session;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}
