/** Signed bytes, made by tools/train-score.ts: a row a unit, its bias last. */
export const hiddenUnits = 20;
export const scoreWeights = {
  scales: [
    0.015391, 0.016203, 0.020926, 0.012165, 0.011739, 0.010431, 0.012024, 0.012019, 0.013327,
    0.011156, 0.011989, 0.012423, 0.0098878, 0.013599, 0.011225, 0.011242, 0.014488, 0.016029,
    0.0092764, 0.017134, 0.023297,
  ],
  bytes: [
    'E+/WGSTyBR3cEg/v+Pz1FP8LABAbE/UI+7v0HeBI5yLG/dH/CSIPHH8CCiADJQweEPH4pQ2+n+j8APUQARLj/v3l5brB',
    'yP/7MgsZzwkH4t3XAAt/9AbL7gHvHfwSCBIGCcsBIf4V4+ztDBTxAQckqsMoGc/17Cj/gV4Z/RkxuAv9/gAL/NIJ8whD',
    'FQkUJxcjAwYf9+nl6DAXJEoo9f77+tkvJfEKEujsgasY8CoTDdjjEuADJg/1ESgqOf3yEAjn+ggzEERiMOT0SpeiNAHa',
    'Cv0P5YGGPvwb9gnh3wkIHxsUGfoYNyns7BwM0hDpFOYbZBHr4lXMsS0dwyH7FOicgTgF+ALt8MQMG9Em6xwGMQkFFw7Y',
    '69rzAxwh+n8C9gY84rbmB9T3Pe/whKUs4N3U/gY19uIu0/kcKgUV7PfqCfzwAdz4BSDCzRoRJwYvF+nkEAIdFn9X/PfX',
    '0vAbRQ7cM7/r/wLnBuUk2fvz/Abf4v8pjbse/0LQKAEN6RcCJx5/dvEW+OdlNaDDDuzpyC8V6UFN6g/yBADwFPXx0w7+',
    'gURh9gM9FOb+NL7mi14OCfnqAA/T/QcbN/0NAC3WIPAR+9ny79ghIDsgMgfn9enVQQnvLSLa7oGj+egSy+bjJxY0BU70',
    'JeE63Of/RdwLOjBL8f4FABB/6dzw6OcHGdL/Dxr+qgEMBvb2AaUKCfxm6fQdGkJEARsr5tnl1RYj+0pL7uX79fY9EgA/',
    'LO7ngaM8/Cf68fswDRsBgQYbF8qS1APuMPwJ8O0B36Kg9O/8SPIuqxUqnMwDGGJj/wX/AwD7KAsK/NEIDgX1yOPu+gkB',
    'BR4H7wrG5scGExsDOs8YIOXnFRFqf+gVFhMABdLvFgJA+BH1ITMu/QAX6tzQAxwUICpJ8xfx+ukiKQAWDu3ngZcp880L',
    '6gwc8Q8JGfEW/h7q7yz2DwM1Lw8NCR3wBkf72ezj8ubWEQYyFn9CDRkV+QgOOxfvK739Dg/s/d8g1BIP7v7W6AMQma0f',
    '/iUEJAD26AT4HBt/Vu39LB4K3fQR+QQKCNT37ilS7fUP5PPgBTj1Nl462dd8vadLIs3BERbegZw784H8Gv4OBxfsPR/r',
    'ySkQ+iAHyAlmPD8HMhkwFQMkvP3xDO3uIRDlEh3L6RnPxpMUJxkY3tg3F78ezesUwtcngfc=',
  ].join(''),
};
