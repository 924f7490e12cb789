// The view at /review: not built yet.
{
  routes.push({
    name: "review", match: /^\/review(?:\/(?<queue>.+))?$/, title: () => "Review",
    show: (params, query, root) => root.replaceChildren(h("h1", {}, "Review"), emptyState("Nothing to show yet.", "")),
  });
}
