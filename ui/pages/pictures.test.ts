// Pictures of each screen, to be looked at beside the design; kept in `pages/pictures`.
// Each also asserts that the page had no error and that nothing runs out of the window.

import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest"
import { closePages, openPage, startBrowser, withStub } from "./browser"

let browser: Browser
const url = inject("url")

beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())
afterEach(() => closePages(browser))

const DIRECTORY = new URL("pictures/", import.meta.url).pathname

async function picture(page: Page, name: string, errors: string[]) {
  await page.waitForTimeout(250)
  await page.screenshot({ path: `${DIRECTORY}${name}.png` })
  expect(errors).toEqual([])
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  expect(wide).toBe(false)
}

/** Mira and Jonas are in the model, and everything is sent. */
async function together(page: Page) {
  await withStub(
    page,
    (stub) => {
      const text = stub.text("sections/model.tex")
      stub.setStatus({
        network: { kind: "online" },
        received_ms: Date.now() - 2000,
        sharing: {
          link: "quire://meet.example.org/5f0c1d3a9b7e4c62a8d1f04be97c3a55#k7Qm4xRwPz9TbL2nVc81",
          where: "meet.example.org",
          here: false,
        },
      })
      stub.join("m", "Mira", 0, "sections/model.tex", text.indexOf("ten minutes.") + 12)
      stub.join(
        "j",
        "Jonas",
        2,
        "sections/model.tex",
        text.indexOf("Bands are"),
        text.indexOf(" (\\cref{fig:range}"),
      )
    },
    null,
  )
}

test("the paper, alone", async () => {
  const { page, errors } = await openPage(browser, url)
  await picture(page, "paper-alone", errors)
})

test.each([
  ["light", "light", "no-preference"],
  ["dark", "dark", "no-preference"],
  ["high-contrast", "light", "more"],
  ["dark-high-contrast", "dark", "more"],
] as const)("the paper with three people, %s", async (name, colorScheme, contrast) => {
  const { page, errors } = await openPage(browser, url, { colorScheme, contrast })
  await together(page)
  await picture(page, `paper-${name}`, errors)
})

test("working offline", async () => {
  const { page, errors } = await openPage(browser, url)
  await together(page)
  await withStub(
    page,
    (stub) => {
      stub.leave("m")
      stub.leave("j")
      stub.setStatus({
        network: { kind: "offline", since_ms: Date.now() - 900_000 },
        received_ms: Date.now() - 900_000,
        unsent: 214,
      })
    },
    null,
  )
  await picture(page, "offline", errors)
})

test("the server does not answer", async () => {
  const { page, errors } = await openPage(browser, url)
  await together(page)
  await withStub(
    page,
    (stub) => {
      stub.leave("m")
      stub.leave("j")
      stub.setStatus({
        network: {
          kind: "unreachable",
          since_ms: Date.now() - 60_000,
          problem: "The connection was refused.",
          retry_ms: 24_000,
        },
        unsent: 12,
      })
    },
    null,
  )
  await picture(page, "server", errors)
})

test("not saved, and a warning", async () => {
  const { page, errors } = await openPage(browser, url)
  await together(page)
  await withStub(
    page,
    (stub) => {
      stub.setStatus({
        saved: {
          kind: "failed",
          problem: "The disk is full. Free some space and Quire saves by itself.",
        },
      })
      stub.notice("info", "Another program changed sections/model.tex.", "sections/model.tex")
      stub.notice("warn", "figures/raw.tif is larger than 50 MB and is not shared.")
    },
    null,
  )
  await page.getByRole("button", { name: "What happened", exact: true }).first().click()
  await picture(page, "not-saved", errors)
})

test("sharing", async () => {
  const { page, errors } = await openPage(browser, url)
  await page.getByTestId("share-button").click()
  await page.getByTestId("share-network").click()
  await picture(page, "share-before", errors)
  await page.keyboard.press("Escape")
  await together(page)
  await page.getByTestId("share-button").click()
  await picture(page, "share", errors)
})

test("go to, menus, a figure", async () => {
  const { page, errors } = await openPage(browser, url)
  await together(page)
  await page.keyboard.press("Control+k")
  await page.keyboard.type("re")
  await picture(page, "go-to", errors)
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Counting night migrants, menu" }).click()
  await picture(page, "menu", errors)
  await page.keyboard.press("Escape")
  await page.getByTestId("file:figures/range.pdf").click()
  await picture(page, "figure", errors)
  await page.getByTestId("file:references.bib").click()
  await page.keyboard.press("Control+f")
  await picture(page, "bib-search", errors)
})

test("name flags keep clear of text, and rows show the focus", async () => {
  const { page, errors } = await openPage(browser, url)
  await withStub(
    page,
    (stub) => {
      const text = stub.text("sections/model.tex")
      const put = (id: string, name: string, color: number, at: string) =>
        stub.join(id, name, color, "sections/model.tex", text.indexOf(at))
      put("a", "Mira", 0, "\n\\label{sec:model}")
      put("b", "Jonas", 2, "recorded only")
      put("c", "Ada", 3, "\n\nThe passage")
      put("d", "Teo", 4, "\n% Sana")
      put("e", "Ines", 5, "Counting, calibration")
    },
    null,
  )
  for (const key of ["F6", "F6", "Tab", "ArrowDown"]) await page.keyboard.press(key)
  await picture(page, "flags", errors)
})

test("a small window", async () => {
  const { page, errors } = await openPage(browser, url, { viewport: { width: 900, height: 600 } })
  await together(page)
  await picture(page, "small", errors)
})

test("the start window", async () => {
  const { page, errors } = await openPage(browser, `${url}?window=start`)
  await picture(page, "start", errors)
  await page.getByTestId("settings").click()
  await picture(page, "start-settings", errors)
  const first = await openPage(browser, `${url}?window=start&first`)
  await picture(first.page, "start-first", first.errors)
})
