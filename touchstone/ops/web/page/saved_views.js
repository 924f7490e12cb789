// Saved views: names for filters, shared by everyone who may see the lists.

/** `filter`: the filter now. The answer is an element with `refresh(signal)`. */
function savedViews(filter) {
  const list = h("ul"), fault = h("p.fault", {role: "alert"});
  const name = h("input", {type: "text", maxlength: 60, required: true, "aria-label": "Name of the view", placeholder: "Name", autocomplete: "off"});
  const form = h("form", {submit: save}, name, h("button", {type: "submit"}, "Save this filter"));
  const note = h("p.rest", {}, "Everyone who may see the lists sees these names: put no patient's data into them.");
  const views = h("details.saved", {}, h("summary", {}, "Views"), h("div.saved-in", {}, list, form, note, fault));
  const address = (one) => `/api/views/${encodeURIComponent(one)}`;
  let known = [], warned = "";

  async function refresh(signal) {
    try {
      known = (await askJson("/api/views", {signal}))?.views ?? [];
      setText(fault, "");
      draw();
    } catch (error) {
      if (!signal?.aborted) setText(fault, error.message);
    }
  }

  function draw() {
    list.replaceChildren(...(known.length ? known.map(item) : [h("li.rest", {}, "No saved views yet.")]));
  }

  function item(one) {
    const made = h("li", {}, h("a", {href: `/cases?${one.query.replace(/^\?/, "")}`}, one.name),
      h("button", {type: "button", "aria-label": `Rename the view ${one.name}`, click: () => rename(made, one)}, "✎"),
      h("button", {type: "button", "aria-label": `Delete the view ${one.name}`, click: () => change(() => askJson(address(one.name), {method: "DELETE"}))}, "✕"));
    return made;
  }

  /** A field in the place of a view's name. The view has its new name before it loses the old one. */
  function rename(place, one) {
    const field = h("input", {type: "text", maxlength: 60, required: true, "aria-label": `New name of the view ${one.name}`, autocomplete: "off"});
    field.value = one.name;
    const leave = () => { draw(); list.querySelector(`[aria-label="Rename the view ${CSS.escape(one.name)}"]`)?.focus(); };
    const done = async (event) => {
      event.preventDefault();
      const wanted = field.value.trim();
      if (wanted === one.name) return leave();
      if (known.some((other) => other.name === wanted)) return setText(fault, `There is a view “${wanted}” already.`);
      return change(async () => {
        await askJson(address(wanted), {method: "PUT", body: {query: one.query}});
        await askJson(address(one.name), {method: "DELETE"});
      });
    };
    place.replaceChildren(h("form", {submit: done, keydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); leave(); } }}, field, h("button", {type: "submit"}, "Rename")));
    field.focus();
    field.select();
  }

  async function change(act) {
    try {
      await act();
      name.value = warned = "";
    } catch (error) {
      return setText(fault, error.message);
    }
    return refresh();
  }

  function save(event) {
    event.preventDefault();
    const wanted = name.value.trim();
    if (known.some((one) => one.name === wanted) && warned !== wanted) {
      warned = wanted;
      return setText(fault, `There is a view “${wanted}” already; press again to replace it.`);
    }
    return change(() => askJson(address(wanted), {method: "PUT", body: {query: listing.path(filter(), "").replace("?", "")}}));
  }

  views.refresh = refresh;
  return views;
}
