/** Words for the codes of the operating system, the TLS library and the HTTP client, which mean nothing to most people. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused: nothing listens at this address',
  ECONNRESET: 'the connection was cut by the other side',
  EPIPE: 'the connection was cut by the other side',
  ENOTFOUND: 'the name of the host is unknown',
  EAI_AGAIN: 'the name server does not answer',
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this machine has no such address',
  EHOSTUNREACH: 'the host cannot be reached: there is no route to it',
  ENETUNREACH: 'the network cannot be reached: there is no route to it',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped halfway',
  UND_ERR_SOCKET: 'the connection was cut by the other side',
  ERR_PROXY_CLOSED: 'the proxy closed the connection instead of opening a tunnel',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; compare the clocks',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself, which is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is from an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is from an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is from an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from an authority that is not trusted',
  ERR_OSSL_PEM_NO_START_LINE: 'the certificate or key to connect with is not in PEM format',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the key to connect with does not belong to its certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

/** What a code means, in words; undefined for one that is not in the table. */
export function systemWords(code: string | undefined): string | undefined {
  return code !== undefined && Object.hasOwn(words, code) ? words[code] : undefined;
}
