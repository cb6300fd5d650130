/**
 * Work with one result. Numbers of jobs and of requests are unique in a JavaScript environment; `addon.stop` takes them.
 * Work that cannot be stopped is a bare promise.
 */
export interface NativeJob<Result> {
  job: number;
  promise: Promise<Result>;
}
