/**
 * Services whose keys have no form of their own. Next to one of these names, a random token is a
 * key if a word such as "key" says so or only a separator is between them.
 */
import { defineNearRule, type SecretRule } from './secret-rule.ts';

const names = `
abstractapi accuweather activecampaign adzuna aeroworkflow agora airship airvisual alegra aletheia
algorithmia allsports amadeus ambee anypoint apacta apideck apiflash apifonica apify apilayer
apimatic apimetrics apiscience apitemplate appcues appfollow appointedd appsynergy apptivo
aroundapp artsy asksuite assembla atera audd autodesk autoklose autopilot avaza aviationstack
axonaut aylien ayrshare bannerbear beamer beebole besnappy besttime billomat bitbar bitcoinaverage
bitly bitmex blablabus blazemeter blitapp blocknative blogger bombbomb boostnote borgbase
brandfetch browshot bscscan bugherd bulbul bulksms buttercms caflou calorieninja campayn canny
cannyio capsulecrm captaindata carboninterface cashboard caspio censys centralstation cexio
chatbot chatfule checio checklyhq checkout checkvist cicero clearbit clickhelp clicksend clinchpad
clockify clockwork cloudelements cloudflareapi cloudimage cloudmersive cloudplan cloudsight
cloudways clustdoc codequiry coinapi coinlayer coinlib collect2 column commodities companyhub
conversiontools convertapi convier copyscape countrylayer courier craftmyapp crossbrowsertesting
crowdin cryptocompare currencycloud currencyfreaks currencylayer currencyscoop currentsapi
customerguru d7network dailyco dandelion dareboost databox dataforseo debounce delighted demio
deputy detectify detectlanguage deviantart dfuse diffbot diggernaut disqus ditto dnscheck
docparser documo docusign dotmailer dovico dronahq duply dwolla dynalist dyspatch eagleeye
easyinsight ecostruxure edamam edenai eightxeight elasticemail enablex endorlabs enigma enigma_
enterpriseflow envoy etherscan ethplorer etsy everhour exchangerateapi exchangerates exportsdk
extractorapi faceplusplus facepp fastforex feedier fetchrss fibery fileio finage
financialmodelingprep findl finnhub fixerio flatio flickr flightapi flightlabs flightstats float
flowdash flowflu formbucket formcraft formio formsite foursquare freshbooks freshservice front
fullcontact fxmarket gengo geoapify geocode geocode.xyz geocodify geocodio geoipifi getemail
getgeoapi getgist getresponse getsandbox glassnode gocanvas goodday googlemaps graphcms
graphhopper groovehq gtmetrix guardianapi gyazo happyscribe harvest hellosign helpcrunch hereapi
heyzo hiveage holidayapi holistic honeybadger host.io html2pdf humanity hunter hybiscus hypertrack
iconfinder iexapis imagekit impala instabot instamojo interseller intrinio invoiceocean ipapi
ipgeolocation ipify ipinfo ipquality ipqualityscore ipstack iterable jotform juro kanban
kanbantool karmacrm keenio kickbox knapsackpro kontent kylas languagelayer lastfm leadfeeder
lemlist lendflow lessannoying lessannoyingcrm lexigram linemessaging linkpreview liveagent
livestorm loadmill lob_ locationiq loginradius lokalise loyverse lunchmoney luno macaddress
madkudu magicbell magnetic mailboxlayer mailboxvalidator mailmodo mailsac mandrill mapquest
marketstack mavenlink maxmind meaningcloud mediastack meistertask mesibo metaapi metabase metrilo
mindmeister mite mixmax mockaroo moderation moonclerk moonclock moosend moralis mrticktock mux
myfreshworks myintervals nasdaqdatalink nethunt neutrinoapi newsapi newscatcher nftport nicereply
nightfall nimble nitro noticeable notify nozbe npmjs nubela numverify nutritionix nylas nytimes
oanda omnisend oopspam opencagedata opengraphr openuv openweather openweathermap opsgenie
optimizely overloop owlbot packagecloud pandadoc pandascore paperform paralleldots parsehub
parsers parseur particleio partnerstack passbase pastebin paymoapp paymongo pdflayer pdfshift
peopledatalabs pepipost percy pinata pipedream pirsch pivotaltracker pixabay planview planyo plivo
podio pollsapi poloniex polygon portainer postageapp postbacks powrbot privacy procurify prodpad
productboard prospectcrm prospectio protocolsio proxycrawl pushbulletapi qase qualaroo qubole
quickbase quickmetrics rapidapi raven rawg razor reachmail readme reallysimplesystems rebilly
rebrandly recharge redhat refiner rentman repairshopr requestfinance restpack restpackhtml rev
ringcentral ritekit roaring rocketreach rosette route4me rownd runrunit salesblink salescookie
salesflare salesmate satismeter saucelabs scalr scrapeowl scraperapi scraperbox scraperstack
scrapfly scrapingant scrapingbee screenshotapi screenshotlayer selectpdf semantria sentiment
serphouse serpstack sheety sherpadesk shipday shortcut shotstack shutterstock signable signaturit
signupgenius sigopt simfin simplesat simplybook simplynoted simvoly sirv siteleaf skrapp
skybiometry slackoauth smartystreets smooch snipcart socrata sonobi sparkpost speechtextai splitio
spoonacular sportsmonk spotify squarespace sslmate statuscake statuspal stitchdata stockdata
storecove stormboard stormglass strava streak stripo supernotes surveyanyplace surveybot
surveysparrow survicate swell swiftype tallyfy tatumio taxjar teamgate teamworkcrm teamworkdesk
technicalanalysisapi tefter telesign teletype testdome text2data textmagic theoddsapi thinkific
thousandeyes ticketmaster tickettailor tiingo timecamp timezoneapi tineswebhook tmetric toggl
tomorrowio tomtom tradier transferwise travelpayouts trufflehog twelvedata twist tyntec ubidots
uclassify unifyid unplugg unsplash upcdatabase uplead uploadcare upwave urlscan userflow userstack
vagrantcloud vatlayer verifier verimail veriphone versioneye viewneo virustotal visualcrossing
vmware voicegain voodoosms vouchery vpnapi vyte walkscore weatherbit weatherstack web3storage
webex webflow webscraper webscraping websitepulse wepay whoxy winston worksnaps workstack
worldcoinindex worldweather wpengine wrike yandexmaps yelp yext ynab youneedabudget yousign
zapierwebhook zenkit zenrows zenscrape zerobounce zerotier zipapi zipbooks zipcodeapi zipcodebase
zonka zonkafeedback
`;

/** Everyday words count only with a word such as "key" joined to them. */
const everyday = new Set(
  `agora airship artsy beamer bitly blogger box branch census chatbot checkout column commodities
  courier daily dandelion deputy ditto envoy etsy exchangerate fileio findl float front
  geocode harvest here holistic humanity hunter impala kanban linear lob luno magnetic mapbox
  miro mite mode moderation mux nasa nimble nitro notify notion parsers percy pinata polygon
  postbacks privacy raven razor readme recharge redhat refiner render rev roaring route4me
  segment sentiment shortcut sonar speechtext square stability streak swell twist unplu
  verifier winston`.split(/\s+/),
);

export const providerRules: readonly SecretRule[] = [
  defineNearRule(
    'provider-key',
    names.split(/\s+/).filter((name) => name.length > 3 && !everyday.has(name)),
  ),
  { ...defineNearRule('provider-word-key', [...everyday]), joined: true },
];
