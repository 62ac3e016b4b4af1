// Random choices that a seed repeats.

export class Random {
  /** `SplitMix32`, started from both halves of the seed. */
  constructor(seed) {
    this.state = (Math.imul(seed, 0x9e3779b1) ^ Math.floor(seed / 2 ** 32)) | 0
  }

  next() {
    this.state = (this.state + 0x9e3779b9) | 0
    let mixed = this.state ^ (this.state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }

  /** A whole number below a bound, 0 if there is none. */
  below(bound) {
    return bound > 0 ? Math.floor((this.next() / 2 ** 32) * bound) : 0
  }

  /** A whole number from low to high, both included. */
  from(low, high) {
    return low + this.below(high - low + 1)
  }

  chance(percent) {
    return this.below(100) < percent
  }

  pick(list) {
    return list[this.below(list.length)]
  }

  /** One of the names, each as often as its number says. */
  weigh(weights) {
    const entries = Object.entries(weights).filter(([, weight]) => weight > 0)
    let at = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [name, weight] of entries) {
      at -= weight
      if (at < 0) return name
    }
    throw new Error("no weights")
  }
}
