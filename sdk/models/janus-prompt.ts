/** What Janus's prompts for text begin with, right behind BOS. */
export const SYSTEM_PROMPT =
  "You are a helpful language and vision assistant. " +
  "You are able to understand the visual content that the user provides, " +
  "and assist the user with a variety of tasks using natural language.\n\n";

/**
 * Renders messages as Janus-Pro was trained: `<|User|>: …` and an empty line, `<|Assistant|>: …` and the end of the sentence.
 * A picture stands on a line of its own, texts that follow each other are joined by a space.
 */
export const CHAT_TEMPLATE = `
{%- for message in messages %}
  {%- set role = message['role'] | lower %}
  {%- set parts = message['content'] %}
  {%- if role == 'user' %}
    {{- '<|User|>: ' }}
  {%- elif role == 'assistant' %}
    {{- '<|Assistant|>:' }}
    {%- set opened = loop.last and not add_generation_prompt and parts[0]['type'] == 'text' and parts[0]['text'] == '' %}
    {%- if not opened %}{{ ' ' }}{% endif %}
  {%- else %}
    {{- message['role'].capitalize() + ': ' }}
  {%- endif %}
  {%- for part in parts %}
    {%- if part['type'] == 'image' %}
      {%- if not loop.first %}{{ '\\n' }}{% endif %}
      {{- '<image_placeholder>' }}
      {%- if not loop.last %}{{ '\\n' }}{% endif %}
    {%- elif part['type'] == 'text' %}
      {%- set text = part['text'] %}
      {%- if loop.first %}{% set text = text.lstrip() %}{% endif %}
      {%- if loop.last %}{% set text = text.rstrip() %}{% endif %}
      {%- if not loop.first and parts[loop.index0 - 1]['type'] == 'text' %}{{ ' ' }}{% endif %}
      {{- text }}
    {%- endif %}
  {%- endfor %}
  {%- if not loop.last or add_generation_prompt %}
    {{- '\\n\\n' if role == 'user' else '<｜end▁of▁sentence｜>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|Assistant|>:' }}{% endif %}`;
