// SHA-256 of a text in UTF-8, as hexadecimal digits. The browser's own is missing where the page came over plain HTTP from another machine.

const sha256 = (() => {
  const primes = [];
  for (let number = 2; primes.length < 64; number++) if (primes.every((prime) => number % prime)) primes.push(number);
  /** The first 32 bits of the fraction of a number. */
  const fraction = (number) => ((number - Math.floor(number)) * 2 ** 32) >>> 0;
  const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime))), BEGIN = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  const turn = (word, by) => (word >>> by) | (word << (32 - by));
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  /** FIPS 180-4, section 6.2. */
  function digest(bytes) {
    const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6), view = new DataView(padded.buffer), state = Uint32Array.from(BEGIN), words = new Uint32Array(64);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
    view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
    for (let block = 0; block < padded.length; block += 64) {
      for (let at = 0; at < 16; at++) words[at] = view.getUint32(block + 4 * at);
      for (let at = 16; at < 64; at++) {
        const early = words[at - 15], late = words[at - 2];
        words[at] = words[at - 16] + (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) + words[at - 7] + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
      }
      let [a, b, c, d, e, f, g, last] = state;
      for (let at = 0; at < 64; at++) {
        const one = (last + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[at] + words[at]) >>> 0;
        const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
        [a, b, c, d, e, f, g, last] = [(one + two) >>> 0, a, b, c, (d + one) >>> 0, e, f, g];
      }
      [a, b, c, d, e, f, g, last].forEach((word, at) => { state[at] += word; });
    }
    return hex([...state].flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]));
  }

  return async function sha256(text, subtle = globalThis.crypto?.subtle) {
    const bytes = new TextEncoder().encode(text);
    return subtle ? hex(new Uint8Array(await subtle.digest("SHA-256", bytes))) : digest(bytes);
  };
})();
