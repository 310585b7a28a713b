// Loads modules of the dashboard outside a browser. They are no package, so that older
// versions of Node would take them for scripts: they are read from a copy that is one.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "yacron2-ui-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
cpSync(fileURLToPath(new URL("../../../ui", import.meta.url)), folder, { recursive: true });
writeFileSync(join(folder, "package.json"), '{"type": "module"}');

/**
 * @param {string} name
 * @returns {Promise<Record<string, any>>}
 */
export const load = (name) => import(pathToFileURL(join(folder, name)).href);
