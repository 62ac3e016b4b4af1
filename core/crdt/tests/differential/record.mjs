// Records what Yjs does with random scripts, or with a script that a vector file holds.
//
// node record.mjs [--seed S] [--scripts N] [--kind KIND]   prints one vector a line, of the seeds S, S + 1 ...
// node record.mjs --again FILE                             prints the vector of FILE with what Yjs makes of its steps,
//                                                          without those that read what none has written
//
// The vectors have the format of ../vectors. Each is one run: steps say themselves in which format they are.

import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"

// Yjs takes its clock when it is loaded, so ours has to be there first.
let clock = { ms: 0 }
Date.now = () => clock.ms
const play = await import("./play.mjs")
clock = play.clock
const { write } = await import("./script.mjs")

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    scripts: { type: "string", default: "1" },
    kind: { type: "string" },
    again: { type: "string" },
  },
})

// Standard output is for vectors; Yjs logs to the other.
console.log = console.error

const reference = { yjs: "13.6.33" }

/** Writes a line; resolves when there is room for more. */
const print = (vector) =>
  new Promise((resolve) => {
    process.stdout.write(`${JSON.stringify(vector)}\n`, resolve)
  })

if (options.again !== undefined) {
  const vector = JSON.parse(readFileSync(options.again, "utf8"))
  play.rewind()
  const run = new play.Play(vector.docs)
  const steps = vector.steps.filter((step) => {
    try {
      run.step(step)
      return true
    } catch (error) {
      if (error instanceof play.Missing) return false
      throw error
    }
  })
  await print({ ...vector, steps, reference })
} else {
  const first = Number(options.seed)
  for (let seed = first; seed < first + Number(options.scripts); seed += 1) {
    await print({ ...write(seed, options.kind), reference })
  }
}
