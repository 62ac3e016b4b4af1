// Builds the page with the stub in it and serves it while the page tests run.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { build, preview } from "vite"
import type { TestProject } from "vitest/node"

/** What the app's own policy allows a page, without the door to the program. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-src 'none'",
  "form-action 'none'",
].join("; ")

declare module "vitest" {
  interface ProvidedContext {
    url: string
  }
}

export default async function serve(project: TestProject) {
  const outDir = await mkdtemp(join(tmpdir(), "quire-pages-"))
  await build({ mode: "stub", logLevel: "warn", build: { outDir, emptyOutDir: true } })
  const server = await preview({
    logLevel: "warn",
    build: { outDir },
    preview: {
      host: "127.0.0.1",
      port: 0,
      headers: { "Content-Security-Policy": POLICY },
    },
  })
  const url = server.resolvedUrls?.local[0]
  if (!url) throw new Error("The preview server has no address.")
  project.provide("url", url)
  return async () => {
    await server.close()
    await rm(outDir, { recursive: true })
  }
}
