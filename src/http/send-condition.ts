import type { Dispatcher } from 'undici';

/**
 * Asks `maySend` when a connection is free and the first byte is about to go. Between a decision and that byte lie queues, name resolution and
 * handshakes, and the process may have stood still in any of them (S20). The request fails with `refusal()` while the answer is no.
 */
export function onlyWhile(
  maySend: () => boolean,
  refusal: () => Error,
): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        if (maySend()) handler.onRequestStart?.(controller, context);
        else controller.abort(refusal());
      },
      onResponseStart: (...answer) => handler.onResponseStart?.(...answer),
      onResponseData: (...answer) => handler.onResponseData?.(...answer),
      onResponseEnd: (...answer) => handler.onResponseEnd?.(...answer),
      onResponseError: (...answer) => handler.onResponseError?.(...answer),
    });
}
