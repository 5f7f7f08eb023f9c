// What src uses of undici, in place of its entry. That also loads fetch, WebSocket, caches and mocks, half of the package, and a bundler can leave nothing out of it.
import api from '../../node_modules/undici/lib/api/index.js';
import Dispatcher from '../../node_modules/undici/lib/dispatcher/dispatcher.js';

export { default as buildConnector } from '../../node_modules/undici/lib/core/connect.js';
export { default as Agent } from '../../node_modules/undici/lib/dispatcher/agent.js';
export { default as Pool } from '../../node_modules/undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from '../../node_modules/undici/lib/dispatcher/proxy-agent.js';

// As the entry does.
Object.assign(Dispatcher.prototype, api);
