// What a person does in the windows, by mouse and by keyboard, with the stub in the shell's place.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest"
import { closePages, openPage, startBrowser, withStub } from "./browser"

let browser: Browser
const url = inject("url")
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const MODEL = "sections/model.tex"

beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())
afterEach(() => closePages(browser))

async function open(query = "") {
  const { page, errors } = await openPage(browser, url + query)
  return { page, errors }
}

/** Waits until something in the page is as it should be. */
async function until<T>(page: Page, read: () => Promise<T>, expected: T) {
  for (let tries = 0; tries < 250; tries++) {
    if (Object.is(await read(), expected)) return
    await page.waitForTimeout(40)
  }
  expect(await read()).toBe(expected)
}

const stubText = (page: Page, path: string) =>
  page.evaluate((file) => globalThis.stub?.text(file) ?? "", path)

const shownText = async (page: Page) =>
  (await page.locator(".cm-line").allTextContents()).join("\n")

const lastCall = (page: Page) => page.evaluate(() => globalThis.stub?.calls.at(-1))

const status = (page: Page, place: string) => page.getByTestId(`status-${place}`).textContent()

/** Fails on what a screen reader could not use or an eye could not read. */
async function accessible(page: Page) {
  await page.evaluate(AXE)
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(o: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      // The editor scrolls with the caret, which the keyboard moves; axe sees only tab stops.
      rules: { "scrollable-region-focusable": { enabled: false } },
    })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`,
    )
  })
  expect(violations).toEqual([])
}

test("what is typed reaches the replica, and what others type reaches the page", async () => {
  const { page, errors } = await open()
  await page.getByTestId("file:main.tex").click()
  await page.getByTestId("editor").click()
  await page.keyboard.press("Control+End")
  await page.keyboard.type("é \\beta")
  await until(page, async () => (await stubText(page, "main.tex")).endsWith("é \\beta"), true)
  await withStub(page, (stub) => stub.type("main.tex", 0, 0, "% Mira\n"), null)
  await page.getByText("% Mira").waitFor()
  expect(await status(page, "caret")).toBe("Line 17, column 8")
  expect(errors).toEqual([])
})

test("two people in one line at once", async () => {
  const { page } = await open()
  await page.getByTestId("file:notes.md").click()
  await page.getByTestId("editor").click()
  await page.keyboard.press("Control+End")
  await withStub(page, (stub) => stub.hold(), null)
  await page.keyboard.type("mine ")
  await withStub(page, (stub) => stub.type("notes.md", 2, 7, "Theirs"), null)
  await page.keyboard.type("more")
  await withStub(page, (stub) => stub.release(), null)
  await until(page, () => stubText(page, "notes.md"), "# Theirs\nmine more")
  await until(page, () => shownText(page), "# Theirs\nmine more")
})

test("what others type in the line waits while a character is being composed", async () => {
  const { page } = await open()
  await page.getByTestId("file:notes.md").click()
  await page.getByTestId("editor").click()
  await page.keyboard.press("Control+End")
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("Input.imeSetComposition", { text: "に", selectionStart: 1, selectionEnd: 1 })
  await withStub(page, (stub) => stub.type("notes.md", 8, 8, "theirs "), null)
  await devtools.send("Input.imeSetComposition", {
    text: "にほ",
    selectionStart: 2,
    selectionEnd: 2,
  })
  await page.waitForTimeout(100)
  expect(await shownText(page)).toBe("# Notes\nにほ")
  await devtools.send("Input.insertText", { text: "日本" })
  await until(page, () => shownText(page), "# Notes\ntheirs 日本")
  await until(page, () => stubText(page, "notes.md"), "# Notes\ntheirs 日本")
})

test("undo leaves others' edits alone", async () => {
  const { page } = await open()
  await page.getByTestId("file:notes.md").click()
  await page.getByTestId("editor").click()
  await page.keyboard.press("Control+Home")
  await page.keyboard.type("mine ")
  await until(page, () => stubText(page, "notes.md"), "mine # Notes\n")
  await withStub(page, (stub) => stub.type("notes.md", 0, 0, "theirs "), null)
  await page.getByText("theirs mine").waitFor()
  await page.keyboard.press("Control+z")
  await until(page, () => stubText(page, "notes.md"), "theirs # Notes\n")
})

test("another person's caret has a name while they type, and again under the pointer", async () => {
  const { page } = await open()
  await withStub(page, (stub) => stub.join("m", "Mira", 0, "sections/model.tex", 30), null)
  const flag = page.getByTestId("remote-caret").locator("b")
  await flag.waitFor({ state: "visible" })
  expect(await flag.textContent()).toBe("Mira")
  await flag.waitFor({ state: "hidden" })
  await withStub(page, (stub) => stub.type("sections/model.tex", 30, 30, "x"), null)
  await flag.waitFor({ state: "visible" })
  await flag.waitFor({ state: "hidden" })
  const caret = await page.getByTestId("remote-caret").boundingBox()
  await page.mouse.move((caret?.x ?? 0) + 2, (caret?.y ?? 0) + 8)
  await flag.waitFor({ state: "visible" })
})

test("a person's name is text, whatever it says", async () => {
  const { page, errors } = await open()
  const name = "<img src=x onerror=alert(1)>".repeat(4)
  await withStub(page, (stub, n) => stub.join("m", n, 99, "sections/model.tex", 30), name)
  await page.getByTestId("person").waitFor()
  expect(await page.locator("img").count()).toBe(0)
  expect(errors).toEqual([])
})

test("the status bar tells what the shell tells", async () => {
  const { page } = await open()
  expect(await status(page, "sent")).toBe("Not shared")
  await withStub(
    page,
    (stub) => stub.setStatus({ network: { kind: "online" }, unsent: 3, saved: { kind: "saving" } }),
    null,
  )
  await until(page, () => status(page, "sent"), "3 edits not sent")
  expect(await status(page, "saved")).toBe("Saving")
  await page.getByTestId("offline-switch").click()
  await page.getByTestId("trouble").waitFor()
  expect(await lastCall(page)).toBe("set_offline")
  await page.getByRole("button", { name: "Go online" }).click()
  await page.getByTestId("trouble").waitFor({ state: "detached" })
})

test("an edit that waits is not called saved", async () => {
  const { page } = await open()
  await page.getByTestId("editor").click()
  await withStub(page, (stub) => stub.hold(), null)
  await page.keyboard.type("x")
  expect(await status(page, "saved")).toBe("Saving")
  await withStub(page, (stub) => stub.release(), null)
  await until(page, () => status(page, "saved"), "Saved")
})

test("the window can be used without a mouse", async () => {
  const { page } = await open()
  await withStub(page, (stub) => stub.setNetwork({ kind: "online" }), null)
  const focused = () =>
    page.evaluate(() => {
      const panel = document.activeElement?.closest("[data-stop]")
      return panel?.getAttribute("aria-label") ?? panel?.tagName ?? ""
    })
  expect(await focused()).toBe("Text")
  const round = []
  for (let step = 0; step < 4; step++) {
    await page.keyboard.press("F6")
    round.push(await focused())
  }
  expect(round).toEqual(["FOOTER", "HEADER", "Files and outline", "Text"])
  await page.keyboard.press("Shift+F6")
  expect(await focused()).toBe("Files and outline")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Escape")
  expect(await focused()).toBe("Text")

  await page.keyboard.press("Control+k")
  await page.keyboard.type("refer")
  await page.keyboard.press("Enter")
  await page.getByTestId("go-to").waitFor({ state: "detached" })
  await until(page, () => page.getByTestId("editor").getAttribute("aria-label"), "references.bib")
  await until(page, focused, "Text")
  await page.keyboard.press("Control+w")
  await until(page, () => page.getByTestId("editor").getAttribute("aria-label"), MODEL)
})

test("the outline goes to a heading, and typing below leaves its rows alone", async () => {
  const { page } = await open()
  const outline = page.getByTestId("outline")
  await outline.getByText("Error budget.").click()
  await until(page, () => status(page, "caret"), "Line 20, column 1")
  await page.keyboard.press("End")
  await page.evaluate(() => {
    const list = document.querySelector("[data-testid=outline]")
    const seen = globalThis as unknown as { changes: number }
    seen.changes = 0
    new MutationObserver((changes) => {
      seen.changes += changes.length
    }).observe(list ?? document, { subtree: true, childList: true, attributes: true })
  })
  await page.keyboard.type("More words.")
  await until(page, async () => (await stubText(page, MODEL)).includes("More words."), true)
  await page.waitForTimeout(400)
  const changes = () => page.evaluate(() => (globalThis as unknown as { changes: number }).changes)
  expect(await changes()).toBe(0)
  await page.keyboard.press("Enter")
  await page.keyboard.type("\\section{Last}")
  await outline.getByText("Last").waitFor()
})

test("files are made, renamed and deleted, and a refusal says why", async () => {
  const { page } = await open()
  await page.getByTestId("new-file").click()
  await page.keyboard.type("main.tex")
  await page.keyboard.press("Enter")
  await page.getByText("There is already a file main.tex. Choose another name.").waitFor()
  await page.getByRole("textbox").last().fill("sections/conclusion.tex")
  await page.keyboard.press("Enter")
  await page.getByTestId("file:sections/conclusion.tex").waitFor()
  await until(
    page,
    () => page.getByTestId("editor").getAttribute("aria-label"),
    "sections/conclusion.tex",
  )
  await page.getByTestId("file:sections/conclusion.tex").focus()
  await page.keyboard.press("F2")
  await page.getByTestId("file-name").getByRole("textbox").fill("sections/end.tex")
  await page.keyboard.press("Enter")
  await page.getByTestId("file:sections/end.tex").waitFor()
  await until(page, () => page.getByTestId("editor").getAttribute("aria-label"), "sections/end.tex")
  await page.getByTestId("file:sections/end.tex").focus()
  await page.keyboard.press("Delete")
  await page.getByRole("button", { name: "Delete for everybody" }).click()
  await page.getByTestId("file:sections/end.tex").waitFor({ state: "detached" })
})

test("a file that somebody else deletes closes, and says so", async () => {
  const { page } = await open()
  await withStub(page, (stub) => stub.remove("sections/model.tex", "Mira deleted model.tex."), null)
  await page.getByTestId("notice").getByText("Mira deleted model.tex.").waitFor()
  await page.getByText("No file is open").waitFor()
})

test("sharing shows a link to pass on, and stops", async () => {
  const { page } = await open()
  await page.getByTestId("share-button").click()
  await withStub(
    page,
    (stub) => {
      stub.failNext = "Port 4300 is taken by another program. Close it, or choose another address."
    },
    null,
  )
  await page.getByTestId("share-start").click()
  await page.getByText("Port 4300 is taken").waitFor()
  await page.getByTestId("share-start").click()
  const link = await page.getByTestId("share-link").inputValue()
  expect(link).toMatch(/^quire:\/\/.*#/)
  await page.getByTestId("copy-link").click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
  expect(await lastCall(page)).toBe(`copy_text ${link}`)
  await page.getByTestId("share-stop").click()
  await page.getByTestId("share-start").waitFor()
  expect(await status(page, "sent")).toBe("Not shared")
  await page.getByTestId("share-start").press("Enter")
  await page.locator("[data-testid=copy-link]:focus").waitFor()
  await page.keyboard.press("Escape")
  await page.getByTestId("share-link").waitFor({ state: "detached" })
})

test("the start window asks who one is, opens and joins", async () => {
  const { page } = await open("?window=start&first")
  await page.getByTestId("name").fill("Ada")
  await page.getByRole("radio", { name: "Gold" }).check({ force: true })
  await page.getByRole("button", { name: "Continue" }).click()
  await page.getByText("Others see this name and color").waitFor()
  await page.getByTestId("open-folder").click()
  expect(await lastCall(page)).toBe("open_folder")
  await page.getByTestId("join-link").fill("quire://nowhere")
  await withStub(
    page,
    (stub) => {
      stub.failNext = "This is not a whole link. Copy it again, with what stands after #."
    },
    null,
  )
  await page.getByTestId("join").click()
  await page.getByTestId("problem").getByText("This is not a whole link.").waitFor()
})

test("everything has a name and can be read", async () => {
  const { page } = await open()
  await withStub(page, (stub) => stub.join("m", "Mira", 0, "sections/model.tex", 30), null)
  await accessible(page)
  await page.getByTestId("share-button").click()
  await page.waitForTimeout(200)
  await accessible(page)
  await page.keyboard.press("Escape")
  await page.keyboard.press("Control+k")
  await page.waitForTimeout(200)
  await accessible(page)
  const start = await open("?window=start")
  await accessible(start.page)
  const first = await open("?window=start&first")
  await accessible(first.page)
})
