// Unit tests: beside the code, without a browser (the few that need a DOM say so at their head).
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { include: ["src/**/*.test.{ts,tsx}"] },
})
