import { expect, test } from "vitest"
import { fileTree, folders, type Node } from "./file-tree"
import type { FileEntry } from "./shell.gen"

function tree(paths: string[]): Node[] {
  return fileTree(
    paths.map((path): FileEntry => ({ id: path, path, kind: "text", bytes: 0, note: null })),
  )
}

function shape(nodes: readonly Node[]): unknown[] {
  return nodes.map((node) =>
    node.kind === "file" ? node.name : [node.name, ...shape(node.children)],
  )
}

test("files stand in their folders, in the order given", () => {
  expect(shape(tree(["main.tex", "a/x.tex", "a/b/y.tex", "c.bib", "a/z.tex"]))).toEqual([
    "main.tex",
    ["a", "x.tex", ["b", "y.tex"], "z.tex"],
    "c.bib",
  ])
})

test("folders are named by their whole path", () => {
  expect(folders(tree(["a/b/y.tex", "c/b/z.tex"]))).toEqual(["a", "a/b", "c", "c/b"])
})
