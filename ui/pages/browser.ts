// The system's Chromium, and a page of Quire in it.

import { existsSync } from "node:fs"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import type { Stub } from "../src/shell-stub"

const PROGRAMS = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
]

/** Returns the path of Chromium, or null when this machine has none. */
export function findChromium(): string | null {
  return PROGRAMS.find((path) => path !== undefined && existsSync(path)) ?? null
}

/** Starts Chromium. Fails with the way to get it, rather than passing without having looked. */
export function startBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath) {
    throw new Error("Chromium was not found. Install it, or name it in CHROMIUM.")
  }
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  })
}

/** Opens the page and waits until it can be used. A script error fails the test that caused it. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const page = await context.newPage()
  // As the app does (`freezePrototype`): a library that writes to it would fail there.
  await page.addInitScript(() => Object.freeze(Object.prototype))
  const errors: string[] = []
  page.on("pageerror", (error) => errors.push(String(error)))
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text())
  })
  await page.goto(url)
  await page.waitForSelector("html[data-ready]")
  return { page, errors }
}

/** Closes all pages of a test. */
export async function closePages(browser: Browser) {
  for (const context of browser.contexts()) await context.close()
}

/** Lets the stub do something in the page. */
export function withStub<A>(page: Page, act: (stub: Stub, argument: A) => void, argument: A) {
  // The policy forbids the page to make code from text; the browser's own tools may.
  const value = JSON.stringify(argument ?? null)
  return page.evaluate(`(${act.toString()})(globalThis.stub, ${value})`)
}
