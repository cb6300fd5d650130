export { listDevices, type Device } from "./core/devices.js";
export {
  BusyError,
  ContextLengthError,
  DeviceError,
  DisposedError,
  DownloadError,
  MediaError,
  ModelError,
  NativeError,
  OptionError,
  PergolaError,
  UnsupportedError,
  type PergolaErrorCode,
} from "./core/errors.js";
export type { ExplainedValue, Explanation, OptionSource } from "./core/explain.js";
export type { FinishReason } from "./core/finish-reason.js";
export type { GenerationOptions } from "./core/generation-options.js";
export type { CommonLoadOptions, KvCacheOptions, LoadOptions } from "./core/load-options.js";
export type { Metrics, StageTimes } from "./core/metrics.js";
export type { NativeGeneratorStats as LLMStats } from "./core/native-types.js";
export type { LoadProgress, LoadStage } from "./core/progress.js";
export { PipelineStream } from "./core/stream.js";
export { systemInfo, type SystemInfo } from "./core/system-info.js";
export type { GroupSize, WeightFormat, WeightsOption } from "./core/weight-options.js";
export type { CallOptions, ChatOptions, PromptOptions, TurnOptions } from "./generation/call-options.js";
export { ChatSession } from "./generation/chat.js";
export type { ChatDefaults, ChatJSON } from "./generation/chat-state.js";
export type { ModelTokenizer } from "./generation/model-tokenizer.js";
export type { Prompt } from "./generation/prompt.js";
export type { TextPipeline, TextPipelineInfo } from "./generation/text-pipeline.js";
export type { TextChunk, TextResult, TokenLogprob, Usage } from "./generation/text-result.js";
export type { ImageLoadOptions, ImageOptions, ImageStreamOptions } from "./image/image-options.js";
export { ImagePipeline, type ImageInfo } from "./image/image-pipeline.js";
export type { ImageMetrics, ImageResult, ImageStageTimes, ImageStep } from "./image/image-result.js";
export type { LLMLoadOptions, LLMOptions } from "./llm/llm-options.js";
export { LLMPipeline, type LLMChunk, type LLMInfo, type LLMResult, type LLMTokenizer } from "./llm/llm-pipeline.js";
export type { AudioInput } from "./media/audio.js";
export type { ImageEncodeOptions, ImageFormat } from "./media/image-encode.js";
export type { ImageInput } from "./media/image-input.js";
export type { AlphaMode, RawPixels } from "./media/raw-pixels.js";
export { RgbImage } from "./media/rgb-image.js";
export { defaultCacheFolder } from "./models/cache.js";
export {
  convertModel,
  type ConversionProgress,
  type ConversionResult,
  type ConvertOptions,
} from "./models/convert-model.js";
export { inspectModel, type ModelInspection } from "./models/inspect-model.js";
export type { PipelineName } from "./models/recognize/kinds.js";
export type {
  AssistantMessage,
  Message,
  MessageContent,
  SystemMessage,
  TextPart,
  ToolCall,
  ToolDefinition,
  ToolMessage,
  UserMessage,
} from "./text/messages.js";
export type { DecodeOptions, EncodeOptions } from "./text/tokenizer.js";
export { VLMPipeline, type VLMChunk, type VLMInfo, type VLMResult, type VLMTokenizer } from "./vlm/vlm-pipeline.js";
export type { ImagePart, ImageUrlPart, VLMMessage, VLMPart } from "./vlm/vlm-messages.js";
export type { VLMLoadOptions, VLMOptions } from "./vlm/vlm-options.js";
export type { FinalCaption, LiveEvent, LiveResult, PartialCaption } from "./whisper/live/live-event.js";
export type { Transcript, TranscriptMetrics, TranscriptSegment, TranscriptWord } from "./whisper/transcript.js";
export type {
  LiveOptions,
  SpeechOptions,
  TranscriptionProgress,
  WhisperLoadOptions,
  WhisperOptions,
} from "./whisper/whisper-options.js";
export { WhisperPipeline, type WhisperInfo } from "./whisper/whisper-pipeline.js";
export {
  formatTranscript,
  type SubtitleOptions,
  type TranscriptFormat,
  type WritableTranscript,
} from "./whisper/writers/format-transcript.js";
export type { TimedSegment } from "./whisper/writers/timed-text.js";
