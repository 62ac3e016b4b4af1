// The words of the status bar and the banners. Everything said here is known: counts are exact,
// times are those of the event. Pure: the time is passed in.

import type { FileEntry, Network, Presence, Saved, Sharing, Status } from "./shell.gen"

/** `good` is gray with a green icon, `wait` amber, `bad` red, `plain` gray. */
export type Tone = "plain" | "good" | "wait" | "bad"

/** One place of the status bar. */
export interface Place {
  readonly text: string
  readonly tone: Tone
}

/** What a banner says: the fact, what it means, and which button it has. */
export interface Trouble {
  readonly tone: "wait" | "bad"
  readonly fact: string
  readonly meaning: string
  /** What changes by the second, kept apart so that it is not read out each time. */
  readonly next: string
  readonly action: "go-online" | null
}

/** Returns the status with what this window has typed and the replica does not know yet. */
export function withUnconfirmed(status: Status, unconfirmed: number): Status {
  if (unconfirmed === 0) return status
  return {
    ...status,
    saved: status.saved.kind === "saved" ? { kind: "saving" } : status.saved,
    unsent: status.network.kind === "alone" ? 0 : status.unsent + unconfirmed,
  }
}

export function savedPlace(saved: Saved): Place {
  switch (saved.kind) {
    case "saved":
      return { text: "Saved", tone: "good" }
    case "saving":
      return { text: "Saving", tone: "plain" }
    case "failed":
      return { text: "Not saved", tone: "bad" }
  }
}

export function sentPlace({ network, unsent }: Pick<Status, "network" | "unsent">): Place {
  if (network.kind === "alone") return { text: "Not shared", tone: "plain" }
  if (unsent > 0) {
    const late = network.kind !== "online" && network.kind !== "connecting"
    return { text: `${count(unsent, "edit")} not sent`, tone: late ? "wait" : "plain" }
  }
  if (network.kind === "connecting") return { text: "Connecting", tone: "plain" }
  return { text: "Sent", tone: "good" }
}

export function receivedPlace(
  { network, received_ms }: Pick<Status, "network" | "received_ms">,
  now: number,
): Place {
  if (received_ms === null) return { text: "Nothing received yet", tone: "plain" }
  if (network.kind !== "online")
    return { text: `Last received ${at(received_ms, now)}`, tone: "plain" }
  return { text: `Received, ${ago(received_ms, now)}`, tone: "good" }
}

export function peoplePlace(people: readonly Presence[]): Place {
  const here = new Set(people.filter((p) => !p.me).map((p) => p.id)).size
  return { text: here === 0 ? "You alone" : `${here + 1} people here`, tone: "plain" }
}

/**
 * Returns the worst trouble there is, or null. Text that is not on the disk comes first.
 * `told` is when the status was told, from which its waiting time counts.
 */
export function trouble(status: Status, told: number, now: number): Trouble | null {
  const { saved, network, unsent, sharing } = status
  if (saved.kind === "failed") {
    return {
      tone: "bad",
      fact: "Your last edits are not on the disk.",
      meaning: saved.problem,
      next: "",
      action: null,
    }
  }
  switch (network.kind) {
    case "offline":
      return {
        tone: "wait",
        fact: `You work offline since ${clock(network.since_ms, now)}.`,
        meaning:
          "Keep writing: every edit is saved on this computer and goes out when you go online.",
        next: "",
        action: "go-online",
      }
    case "unreachable":
      return {
        tone: "wait",
        fact: `${sharing ? sharing.where : "The other side"} does not answer since ${clock(network.since_ms, now)}.`,
        meaning: `${sentenceOf(network.problem)} ${waiting(unsent)}`,
        next: retry(network, told, now),
        action: null,
      }
    case "refused":
      return {
        tone: "wait",
        fact: "Your edits do not reach the others.",
        meaning: `${sentenceOf(network.problem)} ${waiting(unsent)}`,
        next: "",
        action: null,
      }
    default:
      return null
  }
}

function waiting(unsent: number): string {
  return unsent > 0
    ? `${count(unsent, "edit")} ${unsent === 1 ? "waits" : "wait"} on this computer, safe.`
    : "Keep writing: every edit is saved on this computer."
}

function retry(
  network: Extract<Network, { kind: "unreachable" }>,
  told: number,
  now: number,
): string {
  if (network.retry_ms === null) return ""
  const seconds = Math.max(0, Math.ceil((told + network.retry_ms - now) / 1000))
  return seconds === 0 ? "Trying now." : `Next try in ${span(seconds)}.`
}

/** Returns words with a full stop, so that another sentence may follow. */
function sentenceOf(words: string): string {
  const trimmed = words.trim()
  return trimmed === "" || /[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`
}

/** Returns "1 edit", "12 edits". */
export function count(number: number, one: string): string {
  return `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`
}

function span(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h`
}

/** Returns how long ago something was, as exactly as it matters. */
export function ago(time: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - time) / 1000))
  return seconds === 0 ? "now" : `${span(seconds)} ago`
}

/** Returns "13:05", with the day before it when that was another day. */
export function clock(time: number, now: number): string {
  const date = new Date(time)
  const hours = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
  return date.toDateString() === new Date(now).toDateString() ? hours : `${day(time)}, ${hours}`
}

/** Returns "at 13:05", or "on 12 October, 13:05". */
function at(time: number, now: number): string {
  const words = clock(time, now)
  return words.includes(",") ? `on ${words}` : `at ${words}`
}

function day(time: number): string {
  return new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "long" })
}

/** Returns when a paper was opened, as one says it. */
export function opened(time: number, now: number): string {
  const date = new Date(time).toDateString()
  if (date === new Date(now).toDateString()) return `opened today at ${clock(time, now)}`
  if (date === new Date(now - 86_400_000).toDateString()) return "opened yesterday"
  return `opened on ${day(time)}`
}

/** Returns a size as people know it. */
export function size(bytes: number): string {
  if (bytes < 1000) return count(bytes, "byte")
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Returns where somebody is, seen from the file one has open. */
export function whereabouts(
  person: Presence,
  active: string | null,
  files: readonly FileEntry[],
): string {
  if (person.file === null) return ""
  if (person.file === active) return person.line === null ? "here" : `line ${person.line}`
  const path = files.find((file) => file.id === person.file)?.path
  return path ? (path.split("/").at(-1) ?? path) : ""
}

/** Returns where the paper meets, to follow the word "Meets". */
export function meetsAt(sharing: Sharing): string {
  return sharing.here ? `on this computer, ${sharing.where}` : `at ${sharing.where}`
}
