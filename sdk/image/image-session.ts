import { ModelSession } from "../core/model-session.js";
import type { LoadedImageModel } from "./image-model.js";

/** Where calls of an `ImagePipeline` start. */
export class ImageSession extends ModelSession<LoadedImageModel> {
  constructor(model: LoadedImageModel) {
    super("ImagePipeline", model, async () => {
      await Promise.all([model.generator.close(), model.decoder.close()]);
      await model.tokenizer.dispose();
    });
  }
}
