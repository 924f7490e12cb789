// The view at /case: not built yet.
{
  routes.push({
    name: "case", match: /^\/cases\/(?<id>.+)$/, title: () => "Case",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Case"), emptyState("Nothing to show yet.", "")),
  });
}
