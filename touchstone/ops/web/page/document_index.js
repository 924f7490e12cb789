// Where a document's lines begin, and which of its parts fold: the resources of a bundle, sections, long segments.
// It is read in slices, so that its first rows can be shown before its end is known.

const documentIndex = (() => {
  const SLICE_CHARS = 250_000;
  const PARTS_MAX = 100_000;
  const LABEL_CHARS = 20_000; // of a part, in which its name is looked for
  const SEGMENT_CHARS_MIN = 120; // shorter segments are not worth folding

  /** Adds where lines begin; every kind of line end counts. Yields how far it has read. */
  function* readLines(text, starts) {
    const breaks = /\r\n|\r|\n/g, plain = !text.includes("\r");
    for (let at = 0, stop = SLICE_CHARS; ;) {
      if (plain) at = text.indexOf("\n", at) + 1;
      else {
        breaks.lastIndex = at;
        at = breaks.exec(text) ? breaks.lastIndex : 0;
      }
      if (at === 0) return;
      starts.push(at);
      for (; at > stop; stop += SLICE_CHARS) yield stop;
    }
  }

  /** The end of a JSON string that begins before `at`: the index of its closing quote. */
  function stringEnd(text, at) {
    for (let end = text.indexOf("\"", at); end >= 0; end = text.indexOf("\"", end + 1)) {
      let back = end;
      while (text.charCodeAt(back - 1) === 92) back--;
      if ((end - back) % 2 === 0) return end;
    }
    return text.length;
  }

  /** JSON: the entries of a bundle and the other values of its object; of several objects in a row, each one. */
  function* readJson(text, parts) {
    const level = text.indexOf("\n{", 1) > 0 ? 1 : 2;
    let depth = 0, inEntries = false, name = "", begun = 0;
    for (let at = 0, stop = SLICE_CHARS; at < text.length && parts.length < PARTS_MAX; at++) {
      if (at >= stop) {
        yield at;
        stop = at + SLICE_CHARS;
      }
      const code = text.charCodeAt(at);
      if (code === 34) {
        const end = stringEnd(text, at + 1);
        if (depth === 1) name = text.slice(at + 1, Math.min(end, at + 65));
        at = end;
      } else if (code === 123 || code === 91) {
        depth++;
        if (level === 2 && depth === 2 && code === 91 && name === "entry") inEntries = true;
        if (depth === level + (inEntries ? 1 : 0)) begun = at;
      } else if (code === 125 || code === 93) {
        if (depth === level + (inEntries ? 1 : 0)) parts.push({start: begun, end: at + 1, name: inEntries || level === 1 ? "" : name});
        depth--;
        if (inEntries && depth === 1) inEntries = false;
      }
    }
  }

  /** XML: the entries of a bundle, or the outermost sections. */
  function* readXml(text, parts) {
    const root = /<(?:[\w-]+:)?([A-Za-z]\w*)/.exec(text.slice(0, LABEL_CHARS))?.[1] ?? "";
    const tags = new RegExp(`<(/?)(?:[\\w-]+:)?${root === "Bundle" ? "entry" : "section"}(?=[\\s/>])[^>]*>`, "g");
    let depth = 0, begun = 0, stop = SLICE_CHARS;
    for (let tag = tags.exec(text); tag && parts.length < PARTS_MAX; tag = tags.exec(text)) {
      if (tag[1]) {
        if (depth === 1) parts.push({start: begun, end: tags.lastIndex, name: ""});
        depth = Math.max(0, depth - 1);
      } else if (!tag[0].endsWith("/>") && ++depth === 1) begun = tag.index;
      for (; tag.index > stop; stop += SLICE_CHARS) yield stop;
    }
  }

  /** HL7 v2: segments that are longer than a row. */
  function* readSegments(text, parts) {
    for (const line of text.matchAll(/[^\r\n]+/g)) {
      if (line[0].length >= SEGMENT_CHARS_MIN && parts.length < PARTS_MAX) parts.push({start: line.index, end: line.index + line[0].length, name: line[0].slice(0, 3)});
    }
    yield text.length;
  }

  const READERS = {json: readJson, xml: readXml, hl7v2: readSegments};

  /** What a part is, as it names itself: the type and id of a resource, the title of a section. */
  function labelOf(text, format, part) {
    const own = text.slice(part.start, Math.min(part.end, part.start + LABEL_CHARS));
    if (part.name) return part.name;
    if (format === "json") {
      const inner = own.slice(Math.max(0, own.search(/"resource"\s*:/)));
      return [/"resourceType"\s*:\s*"([^"]{1,64})"/.exec(inner)?.[1] ?? "entry", /"id"\s*:\s*"([^"]{1,64})"/.exec(inner)?.[1]].filter(Boolean).join(" ");
    }
    const resource = /<resource[^>]*>\s*<(?:[\w-]+:)?(\w+)/.exec(own)?.[1];
    if (resource) return [resource, /<id value="([^"]{1,64})"/.exec(own)?.[1]].filter(Boolean).join(" ");
    return /<(?:[\w-]+:)?title[^>]*>\s*([^<]{1,100}?)\s*</.exec(own)?.[1] ?? /displayName="([^"]{1,100})"/.exec(own)?.[1] ?? "section";
  }

  /** An index of a text: {starts, parts, read, isWhole, label(part), more(), upTo(offset)}; `read`: how many characters it knows. */
  return function documentIndex(text, format) {
    const starts = [0], parts = [], readers = [readLines(text, starts), own(READERS, format)?.(text, parts)].filter(Boolean).map((steps) => ({steps, read: 0}));
    const index = {
      starts, parts, read: 0, isWhole: false,
      label: (part) => (part.label ??= labelOf(text, format, part)),
      /** Read one more slice. */
      more() {
        for (const reader of readers) {
          while (reader.read <= index.read && reader.read < text.length) {
            const {value, done} = reader.steps.next();
            reader.read = done ? text.length : value;
          }
        }
        index.read = Math.min(text.length, ...readers.map(({read}) => read));
        index.isWhole = index.read >= text.length;
      },
      /** Read on until a position is known. */
      upTo(offset) {
        while (!index.isWhole && index.read <= offset) index.more();
      },
    };
    return index;
  };
})();
