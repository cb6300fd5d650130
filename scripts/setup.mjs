// Checks prerequisites, installs npm packages and fetches the runtime: `npm run setup`.
import { withLock } from "./lib/lock.mjs";
import { main } from "./lib/process.mjs";
import { setUp } from "./lib/tasks.mjs";

await main(() => withLock(() => setUp()));
