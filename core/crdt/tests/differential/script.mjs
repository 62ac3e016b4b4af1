// Writes random scripts: several replicas edit, some of what they tell arrives, late, twice, merged or converted, and in
// the end everybody has everything. Each step is played in Yjs at once, since the next one depends on what is there.

import * as Y from "yjs"
import { Diverged, Play, rewind } from "./play.mjs"
import { Random } from "./random.mjs"

/** What a script is about; seeds take them in turn. */
const KINDS = ["text", "rich", "lists", "xml", "all", "undo", "history", "late", "halves"]

/** What a few scripts are about; so that the others stay what they are. */
const RARE = { 34: "managers", 35: "filtered", 36: "subdocs" }

const ROOTS = {
  text: [["text", "t"]],
  rich: [
    ["text", "t"],
    ["text", "u"],
  ],
  lists: [
    ["array", "a"],
    ["map", "m"],
  ],
  xml: [["xml", "x"]],
  all: [
    ["text", "t"],
    ["array", "a"],
    ["map", "m"],
    ["xml", "x"],
  ],
  history: [
    ["text", "t"],
    ["map", "m"],
    ["array", "a"],
  ],
  halves: [["text", "t"]],
  subdocs: [
    ["array", "a"],
    ["map", "m"],
  ],
}

const WORDS = [
  "a",
  "b",
  "cd",
  "ef ",
  "ghi",
  "\n",
  "\\alpha ",
  '"',
  "é",
  "日本",
  "😀",
  "x😀y",
  "👩‍👧",
  "\u2028\0",
]
const KEYS = ["k", "l", "7", "longer-key", "ключ"]
const ATTRIBUTES = ["bold", "italic", "color"]
const FORMATS = ["v1", "v2"]

/** Returns a script of a seed, as a vector. */
export function write(seed, kind) {
  rewind()
  const script = new Script(seed, kind ?? (RARE[seed % 37] ?? KINDS[seed % KINDS.length]))
  try {
    script.run()
  } catch (error) {
    // Yjs itself could not do it. What it did before stands.
    console.error(`seed ${seed}: ${error.stack}`)
    script.failed = String(error)
  }
  return {
    id: `seed-${seed}`,
    group: script.kind,
    formats: ["v1"],
    docs: script.docs,
    steps: script.steps,
    ...(script.diverged ? { diverged: true } : {}),
    ...(script.failed ? { failed: script.failed } : {}),
  }
}

class Script {
  constructor(seed, kind) {
    this.random = new Random(seed)
    this.kind = kind
    const { random } = this
    const flavor = {
      undo: ["text", "rich", "lists", "xml", "all"],
      late: ["text", "rich", "all", "history"],
      managers: ["text", "rich", "lists", "xml", "all"],
      filtered: ["text", "rich", "lists", "xml", "all"],
    }
    this.roots = ROOTS[flavor[kind] ? random.pick(flavor[kind]) : kind]
    this.isRich =
      !["text", "lists", "halves"].includes(kind) && random.chance(kind === "rich" ? 100 : 70)
    this.hasObjects = random.chance(15)
    this.cuts = kind === "halves"
    this.names = "abcdef".slice(0, random.from(2, kind === "halves" ? 3 : 6)).split("")
    this.docs = {}
    // A text that is asked for only after formats came in is edited by Yjs as its earlier searches have it, which we do
    // not copy. So where there are formats, those who ask late only watch.
    this.editors = kind === "late" && this.isRich ? this.names.slice(0, -1) : this.names
    const asksLate = (name) => kind === "late" && (!this.isRich || !this.editors.includes(name))
    const gc = kind === "history" ? "off" : random.pick(["on", "on", "off", "mixed"])
    // Drawn apart, so that a seed's script is the same as without observers.
    const watches = new Random(seed + 2 ** 31)
    for (const [name, client] of this.clients()) {
      this.docs[name] = {
        client,
        gc: gc === "mixed" ? random.chance(50) : gc === "on",
        ...(asksLate(name) ? {} : { roots: this.roots }),
        ...(watches.chance(60) ? { observed: true } : {}),
        ...(kind === "filtered" ? { gcFilter: true } : {}),
      }
    }
    this.watches = watches
    this.play = new Play(this.docs)
    this.steps = []
    // Updates that may be delivered: a slot, and the formats it is there in.
    this.pool = []
    this.moments = []
    this.positions = []
    this.managers = []
    this.count = 0
  }

  /** Names with different client ids: small ones, Yjs's usual ones, and the widest. */
  clients() {
    const { random } = this
    const width = random.pick(["small", "small", "usual", "wide", "mixed"])
    const draw = {
      small: () => random.from(1, 300),
      usual: () => random.next(),
      wide: () => random.from(1, 2 ** 21 - 1) * 2 ** 32 + random.next(),
    }
    const used = new Set([4_000_000_000, 4_000_000_001])
    return this.names.map((name) => {
      let client
      do {
        client = draw[width === "mixed" ? random.pick(Object.keys(draw)) : width]()
      } while (used.has(client))
      used.add(client)
      return [name, client]
    })
  }

  /** Plays a step and keeps it. */
  add(step) {
    this.play.step(step)
    this.steps.push(step)
    return step
  }

  fresh(prefix) {
    this.count += 1
    return `${prefix}${this.count}`
  }

  /** Plays a step that tells updates; they may be delivered from now on. */
  tell(step) {
    this.play.step(step)
    this.played(step)
  }

  /** Keeps a step that was played and may have told updates. */
  played(step) {
    this.steps.push(step)
    if (step.emits === null) return
    const parts = Array.isArray(step.emits.v1) ? step.emits.v1.length : 1
    for (let at = 0; at < parts; at += 1) {
      this.pool.push({ name: at === 0 ? step.out : `${step.out}.${at}`, formats: FORMATS })
    }
  }

  run() {
    const { random } = this
    if (this.hasUndo()) this.watchUndo()
    const chaos = random.pick([0, 1, 1, 2, 2])
    const length = random.chance(5) ? random.pick([120, 120, 120, 500]) : random.from(8, 45)
    const weights = {
      edit: 50,
      deliver: chaos === 0 ? 5 : 30,
      merge: 6,
      sync: chaos === 2 ? 3 : 8,
      diff: 4,
      convert: 4,
      look: 8,
      undo: this.hasUndo() ? 30 : 0,
      history: this.kind === "history" ? 20 : 0,
      position: { history: 15, undo: 10, all: 5 }[this.kind] ?? 0,
      advance: this.hasUndo() ? 6 : 0,
    }
    for (let at = 0; at < length; at += 1) {
      if (this.watches.chance(5)) this.observe()
      const before = this.pool.length
      this[random.weigh(weights)]()
      if (chaos === 0) {
        for (const update of this.pool.slice(before)) {
          for (const name of this.names) this.apply(name, update)
        }
      }
    }
    this.join()
    this.settle()
  }

  hasUndo() {
    return this.kind === "undo" || this.kind === "managers"
  }

  // Edits.

  edit() {
    const { random } = this
    const doc = random.pick(this.editors)
    const step = { do: "txn", doc, out: this.fresh("u"), ops: [] }
    if (this.hasUndo() && random.chance(40)) step.origin = random.pick(["me", "other"])
    // In a document that has not asked for all its roots, a copy shows what there is to edit.
    // Documents that were made on the way have asked.
    const asked = this.docs[doc] === undefined || this.docs[doc].roots !== undefined
    const play = asked ? this.play : this.copy(doc)
    const choose = function* () {
      for (let count = random.pick([1, 1, 1, 2, 3, 5]); count > 0; count -= 1) {
        const op = this.op(play, doc)
        if (op !== undefined) yield op
      }
    }.bind(this)
    if (asked) {
      play.compose(step, choose)
      if (step.ops.length > 0) this.played(step)
    } else {
      play.compose({ do: "txn", doc, ops: step.ops }, choose)
      if (step.ops.length > 0) this.tell(step)
    }
  }

  /**
   * A play with a copy of what one document shows, to look at: asking for roots may change what the document does. What
   * waits is left out, as it may go in there though it does not here.
   */
  copy(doc) {
    const copy = new Play({ [doc]: { client: 0, roots: this.roots } })
    const { store } = this.play.doc(doc)
    const { pendingStructs, pendingDs } = store
    Object.assign(store, { pendingStructs: null, pendingDs: null })
    Y.applyUpdate(copy.doc(doc), Y.encodeStateAsUpdate(this.play.doc(doc)))
    Object.assign(store, { pendingStructs, pendingDs })
    return copy
  }

  /** All live shared types of a document, with their paths. */
  targets(play, doc) {
    const found = []
    const visit = (at, shared) => {
      found.push({ at, shared, depth: at.length - 2 })
      if (at.length >= 5) return
      if (shared instanceof Y.Map) {
        for (const [key, value] of shared.entries()) {
          if (value instanceof Y.AbstractType) visit([...at, key], value)
        }
      } else if (shared instanceof Y.Array || shared instanceof Y.XmlFragment) {
        shared.toArray().forEach((value, index) => {
          if (value instanceof Y.AbstractType) visit([...at, index], value)
        })
      }
    }
    for (const root of this.roots) visit(root, play.resolve(doc, root))
    return found
  }

  op(play, doc) {
    const targets = this.targets(play, doc)
    if (this.kind === "subdocs" && this.random.chance(25)) return this.subdocOp(targets)
    const target = this.random.pick(targets)
    const { shared } = target
    if (shared instanceof Y.Text) return this.textOp(target)
    if (shared instanceof Y.Array) return this.arrayOp(target)
    if (shared instanceof Y.Map) return this.mapOp(target)
    return this.xmlOp(target)
  }

  textOp({ at, shared }) {
    const { random } = this
    const isXml = shared instanceof Y.XmlText
    const units = shared
      .toDelta()
      .map((step) => (typeof step.insert === "string" ? step.insert : "\ufffc"))
      .join("")
    const place = () => this.border(units, random.below(units.length + 1))
    const range = (most) => {
      const index = this.border(units, random.below(units.length))
      const end = Math.min(units.length, index + random.from(1, most))
      return { index, len: this.border(units, end) - index }
    }
    const what = random.weigh({
      insert: 45,
      delete: units.length > 0 ? 25 : 0,
      format: this.isRich && units.length > 0 ? 20 : 0,
      styled: this.isRich ? 12 : 0,
      embed: this.isRich && !isXml ? 6 : 0,
      delta: this.isRich ? 10 : 0,
      setAttr: isXml ? 6 : 1,
      removeAttr: isXml ? 2 : 0,
    })
    switch (what) {
      case "insert":
        return { op: "insert", at, index: place(), text: this.words() }
      case "styled":
        return { op: "insert", at, index: place(), text: this.words(), attrs: this.attributes() }
      case "delete": {
        const { index, len } = range(6)
        return len > 0 ? { op: "delete", at, index, len } : undefined
      }
      case "format": {
        const { index, len } = range(8)
        return len > 0 ? { op: "format", at, index, len, attrs: this.attributes() } : undefined
      }
      case "embed": {
        const attrs = random.chance(50) ? { attrs: this.attributes() } : {}
        const value = random.pick([
          { image: this.words(), 2: random.below(9), 1: [true, null] },
          {
            n: random.below(1000) / 7,
            big: random.below(100) * 1e20,
            small: random.below(9) / 1e9,
          },
          { $t: random.pick(["map", "array", "text"]) },
          this.hasObjects ? { [this.words()]: [this.plain()] } : {},
        ])
        return { op: "embed", at, index: place(), value, ...attrs }
      }
      case "delta":
        return { op: "delta", at, delta: this.delta(units, isXml) }
      case "setAttr":
        return { op: "setAttr", at, key: random.pick(KEYS), value: this.words() }
      default:
        return { op: "removeAttr", at, key: random.pick(KEYS) }
    }
  }

  /** A delta over a text, now and then formatting past its end. */
  delta(units, isXml) {
    const { random } = this
    const steps = []
    let at = 0
    for (let count = random.from(1, 5); count > 0; count -= 1) {
      const to = this.border(units, Math.min(units.length, at + random.from(1, 5)))
      const kind = random.weigh({ insert: 3, retain: to > at ? 3 : 0, delete: to > at ? 2 : 0 })
      const attributes = random.chance(50) ? { attributes: this.attributes() } : {}
      if (kind === "insert") {
        const embed = !isXml && random.chance(15)
        steps.push({ insert: embed ? { ref: this.words() } : this.words(), ...attributes })
      } else if (kind === "retain") {
        steps.push({ retain: to - at, ...attributes })
        at = to
      } else {
        steps.push({ delete: to - at })
        at = to
      }
    }
    if (random.chance(3)) {
      steps.push({ retain: units.length - at + random.from(1, 3), attributes: { bold: true } })
    }
    return steps
  }

  /** A position that does not lie inside a surrogate pair, unless the script is about those. */
  border(units, index) {
    const unit = units.charCodeAt(index)
    return !this.cuts && unit >= 0xdc00 && unit < 0xe000 ? index + 1 : index
  }

  words() {
    const { random } = this
    const count = random.pick([1, 1, 2, 3])
    const words = this.cuts ? ["a", "😀", "x😀y", "😀😀"] : WORDS
    return Array.from({ length: count }, () => random.pick(words)).join("")
  }

  attributes() {
    const { random } = this
    const attributes = {}
    for (let count = random.pick([1, 1, 2]); count > 0; count -= 1) {
      const values = [true, true, null, null, "red", "blue", 3, false]
      if (this.hasObjects) values.push({ a: 1, b: "x" }, { a: 1, c: [1] })
      attributes[random.pick(ATTRIBUTES)] = random.pick(values)
    }
    return attributes
  }

  arrayOp({ at, shared, depth }) {
    const { random } = this
    const { length } = shared
    const values = () =>
      Array.from({ length: random.pick([1, 1, 2, 4]) }, () => this.value(depth, false))
    switch (random.weigh({ insert: 5, push: 2, delete: length > 0 ? 4 : 0 })) {
      case "insert":
        return { op: "insert", at, index: random.below(length + 1), values: values() }
      case "push":
        return { op: "push", at, values: values() }
      default: {
        const index = random.below(length)
        return { op: "delete", at, index, len: random.from(1, Math.min(4, length - index)) }
      }
    }
  }

  mapOp({ at, depth }) {
    const { random } = this
    const key = random.pick(KEYS)
    if (random.chance(25)) return { op: "remove", at, key }
    return { op: "set", at, key, value: this.value(depth, true) }
  }

  xmlOp({ at, shared, depth }) {
    const { random } = this
    const { length } = shared
    const isElement = shared instanceof Y.XmlElement
    const child = () =>
      random.chance(50) && depth < 2
        ? { $t: "xmlElement", name: random.pick(["p", "div", "LI"]) }
        : { $t: "xmlText" }
    const what = random.weigh({
      insert: 5,
      delete: length > 0 ? 3 : 0,
      setAttr: isElement ? 4 : 0,
      removeAttr: isElement ? 1 : 0,
    })
    switch (what) {
      case "insert": {
        const values = Array.from({ length: random.pick([1, 1, 2]) }, child)
        return { op: "insert", at, index: random.below(length + 1), values }
      }
      case "delete": {
        const index = random.below(length)
        return { op: "delete", at, index, len: random.from(1, Math.min(3, length - index)) }
      }
      case "setAttr":
        return { op: "setAttr", at, key: random.pick(KEYS), value: this.words() }
      default:
        return { op: "removeAttr", at, key: random.pick(KEYS) }
    }
  }

  /** Loads or unloads one of the subdocuments. */
  subdocOp(targets) {
    const { random } = this
    const found = targets.flatMap(({ at, shared }) =>
      [...shared.entries?.() ?? shared.toArray?.().entries() ?? []]
        .filter(([, value]) => value instanceof Y.Doc)
        .map(([key]) => [...at, key]),
    )
    if (found.length === 0) return undefined
    return { op: random.pick(["load", "load", "unload"]), at: random.pick(found) }
  }

  subdoc() {
    const { random } = this
    return {
      $t: "doc",
      guid: `guid-${random.below(5)}`,
      ...(random.chance(30) ? { autoLoad: true } : {}),
      ...(random.chance(20) ? { gc: false } : {}),
      ...(random.chance(30) ? { meta: this.plain() } : {}),
    }
  }

  /** A value for a list or, where more is allowed, a map. */
  value(depth, isForMap) {
    const { random } = this
    if (this.kind === "subdocs" && random.chance(50)) return this.subdoc()
    if (depth < 3 && random.chance(30)) return { $t: random.pick(["map", "array", "text"]) }
    const kinds = { plain: 60, bytes: 8, doc: 2, object: 15, special: isForMap ? 10 : 0 }
    switch (random.weigh(kinds)) {
      case "bytes":
        return { $t: "bytes", hex: ["", "00", "ff017f80"][random.below(3)] }
      case "doc":
        return { $t: "doc", guid: `guid-${random.below(5)}` }
      case "object":
        return random.pick([
          { x: this.plain(), 10: 1, 9: { deep: [this.plain()] } },
          { big: { $t: "bigint", v: "-9007199254740993" }, none: { $t: "undefined" } },
          { raw: { $t: "bytes", hex: "0102" } },
          [this.plain(), [], {}],
          {},
        ])
      case "special":
        return random.pick([
          { $t: "undefined" },
          { $t: "bigint", v: "1234567890123456789" },
          { $t: "bigint", v: "-1" },
        ])
      default:
        return this.plain()
    }
  }

  plain() {
    const { random } = this
    return random.pick([
      random.below(200) - 100,
      random.next(),
      -random.next(),
      random.below(1000) / 8,
      random.below(1000) / 7,
      2 ** 53,
      1e300,
      -2147483648,
      { $t: "num", v: random.pick(["-0", "NaN", "Infinity", "-Infinity"]) },
      random.chance(50),
      null,
      this.words(),
      "",
    ])
  }

  // Deliveries.

  apply(doc, { name, formats }) {
    const { random } = this
    const step = { do: "apply", doc, in: name, format: random.pick(formats), out: this.fresh("r") }
    if (random.chance(80)) step.origin = "remote"
    this.add(step)
    // What an update of others tells is rarely passed on.
    if (step.emits !== null && random.chance(15))
      this.pool.push({ name: step.out, formats: FORMATS })
    if (Array.isArray(step.emits?.v1)) {
      this.pool.push({ name: `${step.out}.1`, formats: FORMATS })
    }
  }

  deliver() {
    if (this.pool.length > 0) this.apply(this.random.pick(this.names), this.random.pick(this.pool))
  }

  merge() {
    const { random } = this
    const format = random.pick(FORMATS)
    const usable = this.pool.filter(({ formats }) => formats.includes(format))
    if (usable.length < 2) return
    const count = random.from(2, Math.min(6, usable.length))
    const from = random.below(usable.length - count + 1)
    const names = random.chance(50)
      ? usable.slice(from, from + count).map(({ name }) => name)
      : Array.from({ length: count }, () => random.pick(usable).name)
    this.use({ do: "merge", in: names, format, out: this.fresh("m") }, format)
  }

  diff() {
    const { random } = this
    if (this.pool.length === 0) return
    const { name, formats } = random.pick(this.pool)
    const format = random.pick(formats)
    const sv = `doc:${random.pick(this.names)}`
    this.use({ do: "diff", in: name, sv, format, out: this.fresh("d") }, format)
  }

  convert() {
    const { random } = this
    if (this.pool.length === 0) return
    const { name, formats } = random.pick(this.pool)
    const format = random.pick(formats)
    const other = format === "v1" ? "v2" : "v1"
    this.use({ do: "convert", in: name, format, out: this.fresh("c") }, other)
  }

  /** Plays a step that makes an update of a format; it may be delivered, and now and then is at once. */
  use(step, format) {
    this.add(step)
    const update = { name: step.out, formats: [format] }
    this.pool.push(update)
    if (this.random.chance(60)) this.apply(this.random.pick(this.names), update)
  }

  sync() {
    const [from, to] = [this.random.pick(this.names), this.random.pick(this.names)]
    if (from !== to) this.bring(from, to)
  }

  /** Brings a replica what it lacks of another; returns whether that told anything. */
  bring(from, to) {
    const format = this.random.pick(FORMATS)
    const out = this.fresh("s")
    this.add({ do: "encode", doc: from, sv: `doc:${to}`, format, out })
    if (this.random.chance(30)) this.pool.push({ name: out, formats: [format] })
    return this.add({ do: "apply", doc: to, in: out, format, origin: "remote" }).emits !== null
  }

  // Looking.

  look() {
    const { random } = this
    const doc = random.pick(this.names)
    const what = random.weigh({ encode: 4, check: 4, pending: 2, sv: 1, svOf: 2, snapshot: 1 })
    switch (what) {
      case "encode":
        return this.add({ do: "encode", doc, format: random.pick(FORMATS) })
      case "check":
        return this.check(doc, random.pick(this.targets(this.copy(doc), doc)))
      case "pending":
        return this.add({ do: "pending", doc })
      case "sv":
      case "snapshot":
        return this.add({ do: what, doc })
      default: {
        if (this.pool.length === 0) return undefined
        const { name, formats } = random.pick(this.pool)
        return this.add({ do: "svOf", in: name, format: random.pick(formats) })
      }
    }
  }

  check(doc, { at, shared }) {
    const want =
      shared instanceof Y.XmlText
        ? ["delta", "length"]
        : shared instanceof Y.Text
          ? ["text", "delta", "length"]
          : shared instanceof Y.Array
            ? ["json", "length"]
            : ["json"]
    return this.add({ do: "check", doc, at, want })
  }

  /** Observes some type in a document that has observers, at whatever depth. */
  observe() {
    const doc = this.watches.pick(this.names)
    // What was cut at a moment joined later, and is not observed.
    const { observed, roots } = this.docs[doc] ?? {}
    if (!observed || roots === undefined) return
    this.add({ do: "observe", doc, at: this.watches.pick(this.targets(this.play, doc)).at })
  }

  // Undo.

  watchUndo() {
    const { random } = this
    const [first, second] = this.names
    for (const doc of random.pick([[first], [first, second], [first, first]])) {
      this.manage(doc, random.pick([[], this.roots, [random.pick(this.roots)]]))
    }
  }

  manage(doc, scope) {
    const { random } = this
    const id = this.fresh("um")
    this.managers.push(id)
    this.add({
      do: "um",
      id,
      doc,
      scope,
      origins: random.pick([[null], [null, "me"], ["me"], ["me", "other"]]),
      captureMs: random.pick([0, 500]),
      ...(random.chance(20) ? { ignoreRemote: true } : {}),
      ...(this.kind === "managers" ? { follows: true } : {}),
      ...(this.kind === "managers" && random.chance(25) ? { capture: true } : {}),
      ...(this.kind === "managers" && random.chance(25) ? { deleteFilter: true } : {}),
    })
  }

  undo() {
    const { random } = this
    if (random.chance(4)) {
      const doc = random.pick(this.names)
      const targets = this.targets(this.copy(doc), doc)
      this.manage(doc, [random.pick(targets).at, random.pick(targets).at])
    }
    const um = random.pick(this.managers)
    if (this.kind === "managers" && random.chance(15)) return this.widen(um)
    const what = random.weigh({ undo: 12, redo: 8, stop: 3, clear: 1 })
    if (what === "undo" || what === "redo") {
      this.tell({ do: what, um, out: this.fresh("u") })
    } else {
      this.add({ do: what, um })
    }
  }

  /** Changes what an undo manager watches. */
  widen(um) {
    const { random } = this
    if (this.managers.length > 1 && random.chance(8)) {
      this.managers = this.managers.filter((other) => other !== um)
      return this.add({ do: "untrack", um })
    }
    if (random.chance(60)) {
      const origin = random.pick([null, "me", "other", "remote"])
      return this.add({ do: "origin", um, origin, add: random.chance(60) })
    }
    const { doc } = this.play.undo.get(um)
    return this.add({ do: "scope", um, doc, at: random.pick(this.targets(this.copy(doc), doc)).at })
  }

  advance() {
    this.add({ do: "advance", ms: this.random.pick([100, 300, 499, 500, 2000]) })
  }

  // History.

  history() {
    const { random } = this
    const doc = random.pick(this.names)
    const own = this.moments.filter((moment) => moment.doc === doc)
    const what = random.weigh({
      snapshot: 4,
      restore: own.length > 0 ? 2 : 0,
      snapDelta: own.length > 0 ? 3 : 0,
      // Formats would be cleaned in the documents on the way to it.
      shallow: own.length > 0 && !this.isRich && this.names.length < 8 ? 2 : 0,
    })
    if (what === "snapshot") {
      const out = this.fresh("y")
      this.add({ do: "snapshot", doc, out })
      this.moments.push({ doc, name: out })
      return
    }
    const format = random.pick(FORMATS)
    const moment = random.pick(own).name
    if (what === "restore") {
      const as = this.fresh("restored")
      this.add({ do: "restore", doc, in: moment, as, format })
      for (const format of FORMATS) this.add({ do: "encode", doc: as, format })
      return
    }
    if (what === "shallow") {
      const as = this.fresh("shallow")
      const client = 4_100_000_000 + this.count
      this.add({ do: "shallow", doc, in: moment, as, client, roots: this.roots, format })
      for (const format of FORMATS) this.add({ do: "encode", doc: as, format })
      // From now on it is a replica like the others, which has the moments since.
      this.names.push(as)
      const since = own.slice(own.findIndex(({ name }) => name === moment))
      this.moments.push(...since.map(({ name }) => ({ doc: as, name })))
      return
    }
    const texts = this.targets(this.copy(doc), doc).filter(({ shared }) => shared instanceof Y.Text)
    const now = random.chance(70) ? { now: moment } : {}
    const prev = random.chance(80) ? { prev: random.pick(own).name } : {}
    this.add({ do: "snapDelta", doc, at: random.pick(texts).at, ...now, ...prev, format })
    this.add({ do: "encode", doc, format })
  }

  position() {
    const { random } = this
    const doc = random.pick(this.names)
    if (this.positions.length > 0 && random.chance(60)) {
      this.add({ do: "abspos", doc, in: random.pick(this.positions) })
      return
    }
    const texts = this.targets(this.copy(doc), doc).filter(({ shared }) => shared instanceof Y.Text)
    if (texts.length === 0) return
    const { at, shared } = random.pick(texts)
    const out = this.fresh("p")
    const index = random.below(shared.length + 1)
    this.add({ do: "relpos", doc, at, index, assoc: random.pick([0, -1]), out })
    this.positions.push(out)
  }

  // The end.

  /** A newcomer gets all that was told, merged. */
  join() {
    const { random } = this
    const format = random.pick(FORMATS)
    const usable = this.pool.filter(({ formats }) => formats.includes(format))
    if (usable.length < 2) return
    const names = usable.map(({ name }) => name)
    const id = "newcomer"
    const late = this.kind === "late" ? {} : { roots: this.roots }
    this.add({ do: "doc", id, client: 4_000_000_001, gc: random.chance(50), ...late })
    const out = this.fresh("m")
    this.add({ do: "merge", in: names, format, out })
    this.add({ do: "apply", doc: id, in: out, format })
    for (const format of FORMATS) {
      const out = this.fresh("s")
      this.add({ do: "encode", doc: id, format, out })
      this.add({ do: "convert", in: out, format })
      this.add({ do: "obfuscate", in: out, format })
    }
  }

  /** Exchanges everything until nothing is told any more; then all are looked at, and must be the same. */
  settle() {
    const [first, ...others] = this.names
    for (let round = 0; round < 5; round += 1) {
      const told = [
        ...others.map((name) => this.bring(name, first)),
        ...others.map((name) => this.bring(first, name)),
      ]
      if (!told.includes(true)) break
    }
    try {
      this.add({ do: "same", docs: this.names, at: this.roots })
    } catch (error) {
      if (!(error instanceof Diverged)) throw error
      this.diverged = true
    }
    for (const doc of this.names) {
      for (const at of this.roots) {
        this.check(doc, { at, shared: this.play.resolve(doc, at) })
      }
      this.add({ do: "pending", doc })
      this.add({ do: "sv", doc })
      for (const format of FORMATS) this.add({ do: "encode", doc, format })
    }
  }
}
