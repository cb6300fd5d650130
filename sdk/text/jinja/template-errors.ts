/** What a template does wrong while it is read or runs, named as Python names it (`TypeError`, `UndefinedError`, ...). */
export class TemplateError extends Error {
  override readonly name = "TemplateError";

  constructor(kind: string, message: string) {
    super(`${kind}: ${message}`);
  }
}

/** Thrown by a template that calls `raise_exception`: it refuses what it was given. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/** The template did more than a template may. */
export class TemplateLimit extends Error {
  override readonly name = "TemplateLimit";
}

export function typeError(message: string): TemplateError {
  return new TemplateError("TypeError", message);
}

export function valueError(message: string): TemplateError {
  return new TemplateError("ValueError", message);
}

/** Something that Jinja2 knows and this interpreter does not: refused by name rather than rendered in another way. */
export function unsupported(what: string): TemplateError {
  return new TemplateError("Unsupported", `${what} is not supported in chat templates`);
}
