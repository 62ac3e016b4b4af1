// Page tests: the built page in the system's Chromium, with the stub in place of the shell.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["pages/**/*.test.ts"],
    globalSetup: ["pages/serve.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
