/**
 * What the page learns on a visit, as a part of Swagger UI's own state, so that what is shown follows it: `refusal`,
 * the code of the last error about credentials; `source`, where the key in use comes from; `isMaking`, whether one is
 * being made, and `failure`, why that failed; `notice`, what there is to say of the link that the page was opened by, and
 * the key that it `offered`; and the ids that were `made` here, by the names of the path parameters that
 * take them.
 */
export const visit = {
  statePlugins: {
    visit: {
      actions: {
        learn: (facts) => ({ type: 'visit_learn', payload: facts }),
        keepId: (name, id) => ({ type: 'visit_keep_id', payload: { name, id } }),
      },
      reducers: {
        visit_learn: (state, { payload }) => state.merge(payload),
        visit_keep_id: (state, { payload: { name, id } }) => state.setIn(['made', name], id),
      },
      selectors: {
        refusal: (state) => state.get('refusal'),
        source: (state) => state.get('source'),
        isMaking: (state) => state.get('isMaking'),
        failure: (state) => state.get('failure'),
        notice: (state) => state.get('notice'),
        offered: (state) => state.get('offered'),
        made: (state, name) => state.getIn(['made', name]),
      },
    },
  },
};
