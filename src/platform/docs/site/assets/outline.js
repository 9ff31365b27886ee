/** Gives the page the headings and regions by which a reader without sight finds the way (WCAG 2.2, 1.3.1, 2.4.1). */
export function outline({ React }) {
  const h = React.createElement;
  const named = (name) => (Part) => (props) => h('section', { 'aria-label': name }, h(Part, props));
  const WithHeading = (Operations) => (props) =>
    h(React.Fragment, null, h('h2', { className: 'only-heard' }, 'Operations'), h(Operations, props));
  const Licensed = (License) => (props) => h('div', { className: 'license' }, 'License: ', h(License, props));
  return {
    wrapComponents: {
      OAS31License: Licensed,
      InfoContainer: named('About'),
      ServersContainer: named('Servers'),
      AuthorizeBtnContainer: named('Authorization'),
      operations: WithHeading,
    },
  };
}
