import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import { errorFromStatus } from './errors.ts';
import { failure } from './testing/scripted-server.ts';

const deployment = { verb: 'apply', object: 'Deployment shop/web', secret: false };
const secret = { verb: 'apply', object: 'Secret shop/db', secret: true };

describe('errorFromStatus', () => {
  it('says of a redirect that something else may have answered, such as a login page', () => {
    const { kind, message } = errorFromStatus(deployment, 302, undefined);
    expect([kind, message]).toEqual([
      'badAnswer',
      'apply Deployment shop/web: 302 the answer leads elsewhere; a proxy or login page may have answered in place of the API server',
    ]);
  });

  it.each([
    [401, failure(401, 'Unauthorized', 'no'), 'unauthorized', 'administrator'],
    [403, failure(403, 'Forbidden', 'no'), 'forbidden', 'administrator'],
    [404, failure(404, 'NotFound', 'pods "x" not found', { name: 'x' }), 'notFound', 'nobody'],
    [
      404,
      failure(404, 'NotFound', 'the server could not find the requested resource'),
      'unknownKind',
      'administrator',
    ],
    [404, undefined, 'unknownKind', 'administrator'],
    [409, failure(409, 'AlreadyExists', 'there'), 'alreadyExists', 'nobody'],
    [409, failure(409, 'Conflict', 'modified'), 'conflict', 'nobody'],
    [410, failure(410, 'Expired', 'too old'), 'gone', 'nobody'],
    [413, undefined, 'invalid', 'author'],
    [422, failure(422, 'Invalid', 'bad replicas'), 'invalid', 'author'],
    [429, undefined, 'tooManyRequests', 'nobody'],
    [500, failure(500, 'InternalError', 'etcd'), 'transient', 'nobody'],
    [503, undefined, 'transient', 'nobody'],
  ])('takes %i as it is meant', (status, body, kind, actor) => {
    expect(errorFromStatus(deployment, status, body)).toMatchObject({ kind, actor, status });
  });

  it.each([
    '.spec.replicas: expected numeric (int or float), got string',
    'failed to convert new object (/d; /v1, Kind=Secret) to proper version: error decoding from json: illegal base64 data',
  ])('takes the 500 for "%s" as permanent', (what) => {
    const message = what.startsWith('.')
      ? `failed to create typed patch object (/d; apps/v1, Kind=Deployment): ${what}`
      : what;
    expect(errorFromStatus(secret, 500, failure(500, '', message))).toMatchObject({
      kind: 'invalid',
      retryable: false,
    });
  });

  it.each([
    ['User "ci" cannot patch resource "secrets" in API group "" in the namespace "shop"', true],
    ['user "ci" (groups=["dev"]) is attempting to grant RBAC permissions not currently held', true],
    ['', true],
    ['exceeded quota: small, requested: count/secrets=1, used: 9, limited: 9', false],
    ['unable to create new content in namespace shop because it is being terminated', false],
  ])('knows a missing right from other refusals: %s', (why, lacksRight) => {
    const body = failure(403, 'Forbidden', `secrets "db" is forbidden: ${why}`);
    expect(errorFromStatus(secret, 403, body)).toMatchObject({ kind: 'forbidden', lacksRight });
  });

  const webhook = 'admission webhook "bindings.example.com" denied the request: ';
  it.each([
    [403, `${webhook}TargetGroupBinding update may not change these fields: spec.targetGroupARN`, true],
    [
      400,
      `${webhook}spec.a: Invalid value: 2: field is immutable, spec.b: Forbidden: may not be changed`,
      true,
    ],
    [403, `${webhook}[spec.a: Invalid value: 2: field is immutable, spec.b: Required value]`, false],
    [403, `${webhook}label team is missing`, false],
    [403, `${webhook}[digests] container app uses an image without an immutable digest`, false],
    [403, `${webhook}Deployments may not be changed before Monday`, false],
    [403, `${webhook}[class] field is immutable\n[team] label team is missing`, false],
    [
      422,
      `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'tags' with binding 'tags' denied request: use immutable tags`,
      false,
    ],
    [403, 'deployments "web" is forbidden: the policy of immutable names', false],
  ])(
    'knows from a webhook or a policy as well that a field cannot be changed in place: %i %s',
    (status, why, isImmutable) => {
      expect(errorFromStatus(deployment, status, failure(status, 'Forbidden', why))).toMatchObject({
        isImmutable,
      });
    },
  );

  it.each([
    ['self == oldSelf', true],
    ['self.region == oldSelf.region', true],
    ['oldSelf == self', true],
    ['self == oldSelf || self.size() > 0', false],
    ['self.size() > 0', false],
  ])('knows a rule of a CRD by which a field cannot be changed: %s', (rule, isImmutable) => {
    const causes = [{ field: 'spec.a', message: `Invalid value: "x": failed rule: ${rule}` }];
    const body = failure(422, 'Invalid', 'Bucket "a" is invalid', { causes });
    expect(errorFromStatus(deployment, 422, body)).toMatchObject({ isImmutable });
  });

  it('is made at once where the API server quotes a name of tens of thousands of spaces, which whoever writes to Git may choose', () => {
    const spaces = ' '.repeat(60_000);
    const why = `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="a${spaces}b"].foo: field not declared in schema`;
    const effort = measureEffort();
    const { kind, isImmutable } = errorFromStatus(deployment, 500, failure(500, '', why));
    expect([kind, isImmutable]).toEqual(['invalid', false]);
    expect(effort()).toBeLessThan(20);
  });

  it('repeats the lines of a policy engine as one, and cuts no character in two', () => {
    const why = `admission webhook "validate.kyverno.svc-fail" denied the request: \n\nresource Deployment/shop/web was blocked due to the following policies \n\nteams:\n  label: 'validation error: no team'\n`;
    expect(errorFromStatus(deployment, 400, failure(400, 'BadRequest', why)).message).toBe(
      `apply Deployment shop/web: 400 admission webhook "validate.kyverno.svc-fail" denied the request: resource Deployment/shop/web was blocked due to the following policies teams: label: 'validation error: no team'`,
    );
    const { message } = errorFromStatus(deployment, 400, failure(400, 'BadRequest', '😀'.repeat(600)));
    expect([message.length <= 600, /[\uD800-\uDBFF]…?$/.test(message)]).toEqual([true, false]);
  });

  it('takes another uid for a conflict: the object was replaced', () => {
    const details = { causes: [{ field: 'metadata.uid', reason: 'FieldValueInvalid' }] };
    expect(errorFromStatus(deployment, 422, failure(422, 'Invalid', 'uid', details)).kind).toBe('conflict');
  });

  it('names the field that no schema knows', () => {
    const message =
      'failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema';
    const error = errorFromStatus(deployment, 500, failure(500, '', message));
    expect(error).toMatchObject({ kind: 'invalid', retryable: false, actor: 'author' });
    expect(error.message).toContain('.spec.foo');
  });

  it('names the managers and fields of a server-side apply conflict', () => {
    const causes = [
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "kubectl-edit" using apps/v1',
        field: '.spec.replicas',
      },
    ];
    const error = errorFromStatus(deployment, 409, failure(409, 'Conflict', 'Apply failed', { causes }));
    expect(error.kind).toBe('fieldConflict');
    expect(error.fieldConflicts).toEqual([{ manager: 'kubectl-edit', field: '.spec.replicas' }]);
  });

  it('never repeats what the server says about a Secret', () => {
    const details = {
      causes: [{ field: 'data.password', reason: 'FieldValueInvalid', message: 'Invalid value: "hunter2"' }],
    };
    const error = errorFromStatus(
      secret,
      422,
      failure(422, 'Invalid', 'Secret "db" is invalid: "hunter2"', details),
    );
    expect(error.message).toContain('apply Secret shop/db: 422 Invalid at data.password');
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain('hunter2');
  });

  it.each([
    [
      422,
      `secrets "db" is forbidden: ValidatingAdmissionPolicy 'teams' with binding 'all' denied request: "hunter2" has no team`,
      "ValidatingAdmissionPolicy 'teams'",
    ],
    [
      400,
      'admission webhook "validate.policies.example.com" denied the request: hunter2 is too short',
      'admission webhook "validate.policies.example.com"',
    ],
    [
      500,
      'Internal error occurred: failed calling webhook "scan.example.com": hunter2',
      'webhook "scan.example.com"',
    ],
  ])(
    'says of a Secret which webhook or policy refused it, and nothing that it said: %i',
    (status, why, by) => {
      const { message } = errorFromStatus(secret, status, failure(status, 'Invalid', why));
      expect(message).toBe(
        `apply Secret shop/db: ${status} Invalid, by ${by} (the server's message is omitted: it may contain the Secret)`,
      );
    },
  );

  it('takes a word of a Secret for no name of a policy', () => {
    const why = `secrets "db" is invalid: data: Invalid value: "ValidatingAdmissionPolicy 'hunter2'"`;
    expect(errorFromStatus(secret, 422, failure(422, 'Invalid', why)).message).not.toContain('hunter2');
  });

  it('does not know whether a write happened when a gateway gave up', () => {
    expect(errorFromStatus(deployment, 504, undefined).effectUnknown).toBe(true);
    expect(errorFromStatus(deployment, 503, undefined).effectUnknown).toBe(false);
  });

  it('reads the pause a server asks for from the Status too', () => {
    expect(
      errorFromStatus(deployment, 429, failure(429, '', '', { retryAfterSeconds: 3 })).retryAfterMs,
    ).toBe(3000);
  });

  it.each([null, [], 'text', { details: { causes: 'x' } }, { message: 7 }])(
    'survives a strange body: %j',
    (body) => {
      expect(errorFromStatus(deployment, 500, body).kind).toBe('transient');
    },
  );
});
