// Values in the notation of the vectors: plain JSON stands for itself, `{"$t": ...}` marks the rest.

import * as Y from "yjs"

export const hex = (bytes) => Buffer.from(bytes).toString("hex")
export const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"))

/** Makes the value that a notation stands for; shared types are new and empty. */
export function make(json) {
  if (json === null || typeof json !== "object") return json
  if (Array.isArray(json)) return json.map(make)
  switch (json.$t) {
    case undefined:
      return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, make(value)]))
    case "undefined":
      return undefined
    case "bigint":
      return BigInt(json.v)
    case "bytes":
      return bytes(json.hex)
    case "num":
      return Number(json.v)
    case "map":
      return new Y.Map()
    case "array":
      return new Y.Array()
    case "text":
      return new Y.Text()
    case "xmlText":
      return new Y.XmlText()
    case "xmlFragment":
      return new Y.XmlFragment()
    case "xmlElement":
      return new Y.XmlElement(json.name)
    case "xmlHook":
      return new Y.XmlHook(json.name)
    case "doc":
    {
      const { $t, ...options } = json
      return new Y.Doc(make(options))
    }
    default:
      throw new Error(`value ${json.$t}`)
  }
}

/** Writes a value that was read from a document. */
export function show(value) {
  if (value === undefined) return { $t: "undefined" }
  if (typeof value === "bigint") return { $t: "bigint", v: String(value) }
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { $t: "num", v: Object.is(value, -0) ? "-0" : String(value) }
  }
  if (value === null || typeof value !== "object") return value
  if (value instanceof Uint8Array) return { $t: "bytes", hex: hex(value) }
  if (Array.isArray(value)) return value.map(show)
  if (value instanceof Y.Doc) return { $t: "doc", guid: value.guid }
  if (value instanceof Y.Text && !(value instanceof Y.XmlText)) return value.toString()
  if (value instanceof Y.XmlText) return plain(value)
  if (value instanceof Y.Array) return value.toArray().map(show)
  if (value instanceof Y.Map) {
    return Object.fromEntries([...value.entries()].map(([key, member]) => [key, show(member)]))
  }
  if (value instanceof Y.XmlFragment) return { $t: "xml", v: value.toString() }
  if (value instanceof Y.AbstractType) throw new Error("a root without a type")
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, show(member)]))
}

/** The text of an XML text, without the tags of its formats. */
function plain(text) {
  return text
    .toDelta()
    .map((step) => (typeof step.insert === "string" ? step.insert : ""))
    .join("")
}

/** The text with formats and embedded values, as a delta of insertions. */
export function delta(text, now, earlier) {
  return text.toDelta(now, earlier).map((step) => ({
    insert: show(step.insert),
    ...(step.attributes === undefined ? {} : { attributes: show(step.attributes) }),
  }))
}

/** A value in an event: of a shared type only its kind, since others have changed its content by the time we look. */
function told(value) {
  if (!(value instanceof Y.AbstractType)) return show(value)
  const kinds = { array: Y.Array, map: Y.Map, text: Y.Text, xml: Y.XmlFragment }
  // An XML hook is a map to Yjs; it stands in no script.
  const [kind] = Object.entries(kinds).find(([, of]) => value instanceof of)
  return { $t: "shared", v: kind }
}

/** An event of a deep observer: where, and what changed. */
export function event(event) {
  // First the path: the type that it starts from is the one whose observer is being called.
  const { path } = event
  const delta = unmarked(() => event.delta).map((step) => {
    if (step.delete !== undefined) return { delete: step.delete }
    const what =
      step.retain !== undefined
        ? { retain: step.retain }
        : Array.isArray(step.insert)
          ? { values: step.insert.map(told) }
          : { insert: told(step.insert) }
    return step.attributes === undefined ? what : { ...what, attributes: show(step.attributes) }
  })
  const keys = [...event.keys].map(([key, { action, oldValue }]) => [
    key,
    action,
    ...(action === "add" ? [] : [told(oldValue)]),
  ])
  return { path, delta, keys }
}

/**
 * Reads from an event what makes Yjs delete marks of formats that say nothing, without letting it: it takes them as
 * deleted until it is done.
 */
function unmarked(read) {
  const { delete: drop } = Y.Item.prototype
  const dropped = []
  Y.Item.prototype.delete = function () {
    this.markDeleted()
    dropped.push(this)
  }
  try {
    return read()
  } finally {
    Y.Item.prototype.delete = drop
    for (const item of dropped) item.deleted = false
  }
}
