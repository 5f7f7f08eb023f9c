// What prom-client uses of OpenTelemetry, in place of its entry, which also holds logs, baggage and its own metrics.
export { context } from '../../node_modules/@opentelemetry/api/dist/context-api.mjs';
export { trace } from '../../node_modules/@opentelemetry/api/dist/trace-api.mjs';
