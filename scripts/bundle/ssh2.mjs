// What src uses of ssh2, in place of its entry. That also loads its server, agents for HTTP and the making of keys.
import keyParser from '../../node_modules/ssh2/lib/protocol/keyParser.js';

export { default as Client } from '../../node_modules/ssh2/lib/client.js';
export const utils = { parseKey: keyParser.parseKey };
