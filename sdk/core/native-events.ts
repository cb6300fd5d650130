import type { NativeAddon, NativeEvent } from "./native-types.js";

/** Everything that happens to one request. */
export type RequestEvent = Extract<NativeEvent, { request: number }>;
/** Progress of one load. */
export type LoadEvent = Extract<NativeEvent, { type: "progress" }>;

/**
 * Hands the addon's events to whoever waits for them.
 *
 * An addon has one event handler in each JavaScript environment, but two copies of this package in one process may share
 * the addon. The router is therefore kept on the addon's own exports, and every copy uses the one that is there.
 */
export interface NativeEventRouter {
  onRequest(request: number, handler: (event: RequestEvent) => void): void;
  onLoad(load: number, handler: (event: LoadEvent) => void): void;
  /** Forgets a load; requests are forgotten after their last event. */
  offLoad(load: number): void;
}

// The number changes when the router's methods do.
const ROUTER = Symbol.for("pergola.native-events.1");

/** The router of an addon; installs it on first use. */
export function eventsOf(addon: NativeAddon): NativeEventRouter {
  const holder: { [ROUTER]?: NativeEventRouter | undefined } = addon as object;
  return (holder[ROUTER] ??= installRouter(addon));
}

function installRouter(addon: NativeAddon): NativeEventRouter {
  const requests = new Map<number, (event: RequestEvent) => void>();
  const loads = new Map<number, (event: LoadEvent) => void>();

  const route = (event: NativeEvent): void => {
    if (event.type === "progress") {
      loads.get(event.job)?.(event);
      return;
    }
    const handler = requests.get(event.request);
    if (event.type === "end" || event.type === "error") requests.delete(event.request);
    handler?.(event);
  };

  addon.setEventHandler((events) => {
    for (const event of events) {
      try {
        route(event);
      } catch (error) {
        // One handler's fault must not keep the rest of the batch from the others.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  });

  return {
    onRequest: (request, handler) => void requests.set(request, handler),
    onLoad: (load, handler) => void loads.set(load, handler),
    offLoad: (load) => void loads.delete(load),
  };
}
