/**
 * Why a result ended, with the same meaning in every pipeline:
 *
 * - `stop`: at its natural end (a stop token, a stop string, the last token of a picture, the end of the audio), or because
 *   `stop()` was called or the loop was left with `break`; what had come is kept.
 * - `length`: a limit is used up (`maxNewTokens`, or the context).
 * - `tool-calls`: the model asks for functions to be called. Reserved.
 * - `cancelled`: `cancel()` was called.
 */
export type FinishReason = "stop" | "length" | "tool-calls" | "cancelled";
