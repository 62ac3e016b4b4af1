import { expect, test } from "vitest"
import type { Presence, Status } from "./shell.gen"
import {
  ago,
  clock,
  count,
  opened,
  peoplePlace,
  receivedPlace,
  savedPlace,
  sentPlace,
  size,
  trouble,
  whereabouts,
  withUnconfirmed,
} from "./words"

const NOW = new Date(2026, 10, 30, 13, 20).getTime()

const level: Status = {
  saved: { kind: "saved" },
  network: { kind: "online" },
  unsent: 0,
  received_ms: NOW - 2000,
  people: [],
  sharing: null,
}

test("what is level is said so, in green", () => {
  expect(savedPlace(level.saved)).toEqual({ text: "Saved", tone: "good" })
  expect(sentPlace(level)).toEqual({ text: "Sent", tone: "good" })
  expect(receivedPlace(level, NOW)).toEqual({ text: "Received, 2 s ago", tone: "good" })
})

test("nothing is called saved or sent before it is", () => {
  expect(savedPlace({ kind: "saving" }).text).toBe("Saving")
  expect(savedPlace({ kind: "failed", problem: "" })).toEqual({ text: "Not saved", tone: "bad" })
  expect(sentPlace({ network: { kind: "online" }, unsent: 1 }).text).toBe("1 edit not sent")
  expect(sentPlace({ network: { kind: "connecting" }, unsent: 0 }).text).toBe("Connecting")
  expect(sentPlace({ network: { kind: "alone" }, unsent: 0 }).text).toBe("Not shared")
})

test("what the replica does not know yet is neither saved nor sent", () => {
  const said = withUnconfirmed(level, 2)
  expect(savedPlace(said.saved).text).toBe("Saving")
  expect(sentPlace(said).text).toBe("2 edits not sent")
  expect(withUnconfirmed(level, 0)).toBe(level)
  expect(withUnconfirmed({ ...level, network: { kind: "alone" } }, 2).unsent).toBe(0)
})

test("late is amber, never red", () => {
  const offline = { kind: "offline", since_ms: NOW } as const
  expect(sentPlace({ network: offline, unsent: 12 })).toEqual({
    text: "12 edits not sent",
    tone: "wait",
  })
  expect(sentPlace({ network: { kind: "refused", problem: "" }, unsent: 2 }).tone).toBe("wait")
  expect(receivedPlace({ network: offline, received_ms: NOW - 900_000 }, NOW).text).toBe(
    "Last received at 13:05",
  )
  expect(receivedPlace({ network: offline, received_ms: null }, NOW).text).toBe(
    "Nothing received yet",
  )
})

test("people are counted with oneself, windows of oneself are not", () => {
  const person = (id: string, me: boolean): Presence => ({
    id,
    me,
    name: id,
    color: 0,
    file: null,
    line: null,
  })
  expect(peoplePlace([person("a", true)]).text).toBe("You alone")
  expect(peoplePlace([person("a", true), person("b", false), person("c", false)]).text).toBe(
    "3 people here",
  )
})

test("the disk comes before the network", () => {
  const both: Status = {
    ...level,
    saved: { kind: "failed", problem: "The disk is full." },
    network: { kind: "offline", since_ms: NOW },
  }
  expect(trouble(both, NOW, NOW)?.tone).toBe("bad")
  expect(trouble(level, NOW, NOW)).toBeNull()
  expect(trouble({ ...level, network: { kind: "alone" } }, NOW, NOW)).toBeNull()
})

test("the next try counts down from when it was told", () => {
  const status: Status = {
    ...level,
    network: {
      kind: "unreachable",
      since_ms: NOW,
      problem: "Connection refused",
      retry_ms: 30_000,
    },
    unsent: 12,
  }
  const said = trouble(status, NOW, NOW + 6000)
  expect(said?.fact).toBe("The other side does not answer since 13:20.")
  expect(said?.meaning).toBe("Connection refused. 12 edits wait on this computer, safe.")
  expect(said?.next).toBe("Next try in 24 s.")
  expect(trouble(status, NOW, NOW + 60_000)?.next).toBe("Trying now.")
})

test("times and sizes", () => {
  expect(ago(NOW - 200, NOW)).toBe("now")
  expect(ago(NOW + 5000, NOW)).toBe("now")
  expect(ago(NOW - 150_000, NOW)).toBe("2 min ago")
  expect(clock(NOW - 86_400_000, NOW)).toBe("29 November, 13:20")
  expect(opened(NOW, NOW)).toBe("opened today at 13:20")
  expect(opened(NOW - 86_400_000, NOW)).toBe("opened yesterday")
  expect(opened(NOW - 40 * 86_400_000, NOW)).toBe("opened on 21 October")
  expect([size(1), size(24_310), size(2_500_000)]).toEqual(["1 byte", "24 KB", "2.5 MB"])
  expect(count(3406, "word")).toBe("3,406 words")
})

test("where somebody is depends on where one looks", () => {
  const files = [
    { id: "f", path: "sections/model.tex", kind: "text", bytes: 1, note: null } as const,
  ]
  const mira: Presence = { id: "m", me: false, name: "Mira", color: 0, file: "f", line: 54 }
  expect(whereabouts(mira, "f", files)).toBe("line 54")
  expect(whereabouts(mira, "g", files)).toBe("model.tex")
  expect(whereabouts({ ...mira, file: "unknown" }, "g", files)).toBe("")
})
