import { z } from "zod";
import { OptionError } from "../core/errors.js";
import type { PromptOptions } from "../generation/call-options.js";
import { jsonCopy, type MessageRules } from "../generation/message-rules.js";
import type { ImageInput } from "../media/image.js";
import { understandImage } from "../media/image-input.js";
import { imageToJSON, snapshotImage } from "../media/image-json.js";
import {
  messagesSchema,
  parseMessagesWith,
  textPartSchema,
  type Message,
  type TemplateMessage,
  type TextPart,
} from "../text/messages.js";

/** A picture in a message. */
export interface ImagePart {
  type: "image";
  /** A path, a `file:`, `data:` or `http(s):` URL, the bytes of an image file, pixels with their size, or an `RgbImage`. */
  image: ImageInput;
  /**
   * What becomes of transparency: `flatten` lays the picture over white; `drop` leaves the colours that are stored under it, as the
   * reference implementations of most models do. Defaults to `flatten`.
   */
  alpha?: "flatten" | "drop" | undefined;
}

/** A picture as OpenAI's chat API writes it. */
export interface ImageUrlPart {
  type: "image_url";
  image_url: string | { url: string; [field: string]: unknown };
}

/** What messages to a vision-language model are made of. */
export type VLMPart = TextPart | ImagePart | ImageUrlPart;

/** One message of a conversation with pictures. */
export type VLMMessage = Message<VLMPart>;

/** A picture of a prompt, checked. */
export interface CheckedImage {
  type: "image";
  image: ImageInput;
  alpha: "flatten" | "drop";
  /** Its name in messages, for example `messages[0].content[1].image`. */
  path: string;
  /** The part that a chat keeps, which nobody changes; `undefined` where the part is the caller's. */
  kept: object | undefined;
}

const alpha = z.enum(["flatten", "drop"]);

const partSchema = z.discriminatedUnion("type", [
  textPartSchema,
  z.strictObject({ type: z.literal("image"), image: z.unknown(), alpha: alpha.optional() }),
  z.looseObject({ type: z.literal("image_url"), image_url: z.union([z.string(), z.looseObject({ url: z.string() })]) }),
]);

const schema = messagesSchema(partSchema);

/** Parts that chats keep. */
const keptParts = new WeakSet();
/** Names of parts that came with the option `images`. */
const attached = new WeakMap<object, string>();

/** Messages of texts and pictures. */
export const VLM_MESSAGES: MessageRules<VLMPart> = {
  content: "a string or an array of text and image parts",
  parse: (value, path = "messages") => {
    const messages = parseMessagesWith<VLMPart>(schema, value, path);
    const root = path === "prompt" ? "messages" : path;
    for (const [index, message] of messages.entries()) {
      const given = (value as { content?: unknown }[])[index]!.content;
      if (typeof message.content === "string" || !Array.isArray(given)) continue;
      message.content = (given as VLMPart[]).map((part, at) =>
        part.type === "text" ? part : checkedImage(part, `${root}[${index}].content[${at}]`),
      );
    }
    return messages;
  },
  attachments: (options) => {
    const { images = [] }: PromptOptions & { images?: readonly ImageInput[] } = options;
    return images.map((image, index) => {
      const part: ImagePart = { type: "image", image };
      attached.set(part, `images[${index}]`);
      checkedImage(part, "");
      return part;
    });
  },
  attachmentsMisplaced: (options) =>
    new OptionError("images goes with a prompt that is a string: put image parts into the messages instead.", {
      path: "images",
      expected: "nothing where the prompt is messages",
      received: (options as { images?: unknown }).images,
    }),
  copy: (messages) => (messages as VLMMessage[]).map((message) => withParts(message, keptPart)),
  toJSON: (messages) => messages.map((message) => withParts(message, jsonPart)),
};

/** The pictures of a checked conversation, in order. */
export function imagesOf(messages: readonly TemplateMessage<VLMPart>[]): CheckedImage[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.filter((part) => part.type === "image").map((part) => part as CheckedImage),
  );
}

/** The same conversation as chat templates want it: of pictures only that they are there. */
export function withoutPixels(messages: readonly TemplateMessage<VLMPart>[]): TemplateMessage[] {
  return messages.map((message) => {
    if (typeof message.content === "string") return message as TemplateMessage;
    const content = message.content.map((part) => (part.type === "text" ? part : { type: "image" }));
    return { ...message, content } as TemplateMessage;
  });
}

/** Checks the form of a picture; its content is looked at when the call runs. @throws OptionError */
export function checkedImage(part: ImagePart | ImageUrlPart, partPath: string): CheckedImage {
  const kept = keptParts.has(part) ? part : undefined;
  let path = attached.get(part);
  let image: ImageInput;
  if (part.type === "image") {
    image = part.image;
    path ??= `${partPath}.image`;
  } else {
    const isText = typeof part.image_url === "string";
    image = isText ? (part.image_url as string) : (part.image_url as { url: string }).url;
    path ??= `${partPath}.image_url${isText ? "" : ".url"}`;
  }
  // A long data: URL would be decoded here, and once more when it is read.
  if (typeof image !== "string" || !/^data:/i.test(image)) understandImage(image, path);
  return { type: "image", image, alpha: (part.type === "image" ? part.alpha : undefined) ?? "flatten", path, kept };
}

function withParts(message: VLMMessage, part: (part: ImagePart | ImageUrlPart) => VLMPart): VLMMessage {
  const { content, ...rest } = message;
  const copied =
    content === undefined || content === null || typeof content === "string"
      ? content
      : content.map((entry) => (entry.type === "text" ? jsonCopy(entry) : part(entry)));
  return { ...jsonCopy(rest), ...(content === undefined ? {} : { content: copied }) } as VLMMessage;
}

function keptPart(part: ImagePart | ImageUrlPart): VLMPart {
  const copy = part.type === "image" ? { ...part, image: snapshotImage(part.image) } : jsonCopy(part);
  keptParts.add(copy);
  return copy;
}

function jsonPart(part: ImagePart | ImageUrlPart): VLMPart {
  return part.type === "image" ? jsonCopy({ ...part, image: imageToJSON(part.image) }) : jsonCopy(part);
}
