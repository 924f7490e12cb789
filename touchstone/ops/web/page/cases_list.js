// The view at /cases: not built yet.
{
  routes.push({
    name: "cases", match: /^\/cases$/, title: () => "Cases",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Cases"), emptyState("Nothing to show yet.", "")),
  });
}
