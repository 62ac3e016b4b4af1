import { expect, test } from "vitest"
import { colorName, initial, personClass } from "./people"

test("any number is a color", () => {
  expect([0, 7, 8, -1, 2.9, Number.NaN].map(personClass)).toEqual([
    "p-teal",
    "p-ember",
    "p-teal",
    "p-ember",
    "p-gold",
    "p-teal",
  ])
  expect(colorName(1)).toBe("Violet")
})

test("an initial is a whole letter", () => {
  expect(["mira", " élan", "👩‍🔬 Ada", ""].map(initial)).toEqual(["M", "É", "👩‍🔬", "?"])
})
