// Update files as programs with an ordinary Yjs write and read them.
//
// node files.mjs write <folder>   two people's documents in both formats, and what Yjs makes of them
// node files.mjs read <file> <v1|v2>   prints what a document that gets the file holds, as JSON

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Y from "yjs"

const [task, path, format] = process.argv.slice(2)

function person(client, start) {
  const doc = new Y.Doc()
  doc.clientID = client
  if (start) Y.applyUpdate(doc, start)
  return doc
}

function write(folder) {
  const ann = person(1)
  const text = ann.getText("text")
  text.insert(0, "\\section{Ünïcode 😀}\nOne two three.\n")
  text.delete(25, 4)
  text.format(0, 8, { bold: true })
  ann.getMap("meta").set("title", "A paper")
  ann.getMap("meta").set("title", "The paper")
  const start = Y.encodeStateAsUpdate(ann)
  const bob = person(2 ** 40 + 5, start)
  bob.getText("text").insert(9, "Really: ")
  bob.getArray("list").insert(0, [1, 2.5, null, { deep: [true, "x"] }, new Uint8Array([1, 2])])
  bob.getArray("list").delete(1, 2)
  text.insert(0, "% by Ann\n")
  const docs = { ann, bob }
  for (const [name, doc] of Object.entries(docs)) {
    writeFileSync(join(folder, `${name}.v1`), Y.encodeStateAsUpdate(doc))
    writeFileSync(join(folder, `${name}.v2`), Y.encodeStateAsUpdateV2(doc))
  }
  const v1 = [Y.encodeStateAsUpdate(ann), Y.encodeStateAsUpdate(bob)]
  const v2 = v1.map(Y.convertUpdateFormatV1ToV2)
  const known = Y.encodeStateVectorFromUpdate(v1[0])
  const expected = {
    "merged.v1": Y.mergeUpdates(v1),
    "merged.v2": Y.mergeUpdatesV2(v2),
    "rest.v1": Y.diffUpdate(v1[1], known),
    "rest.v2": Y.diffUpdateV2(v2[1], known),
    "converted.v1": Y.convertUpdateFormatV2ToV1(Y.encodeStateAsUpdateV2(bob)),
    "converted.v2": v2[1],
  }
  for (const [name, bytes] of Object.entries(expected)) {
    writeFileSync(join(folder, `yjs-${name}`), bytes)
  }
}

function read(file) {
  const doc = person(9)
  const apply = format === "v2" ? Y.applyUpdateV2 : Y.applyUpdate
  apply(doc, readFileSync(file))
  const held = {
    text: doc.getText("text").toString(),
    meta: doc.getMap("meta").toJSON(),
    list: doc.getArray("list").length,
    waiting: doc.store.pendingStructs !== null || doc.store.pendingDs !== null,
  }
  process.stdout.write(JSON.stringify(held))
}

if (task === "write") write(path)
else read(path)
