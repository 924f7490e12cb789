// The view at /compare: not built yet.
{
  routes.push({
    name: "compare", match: /^\/compare$/, title: () => "Compare",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Compare"), emptyState("Nothing to show yet.", "")),
  });
}
