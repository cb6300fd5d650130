import { ModelSession } from "../core/model-session.js";
import type { LoadedWhisper } from "./whisper-model.js";

/** Where calls of a `WhisperPipeline` start. */
export class WhisperSession extends ModelSession<LoadedWhisper> {
  constructor(model: LoadedWhisper) {
    super("WhisperPipeline", model, async () => {
      await model.transcriber.close();
      await model.tokenizer.dispose();
    });
  }
}
