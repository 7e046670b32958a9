package discovery

// This file is data: what the resolver knows about the words that tools are
// named with. It is general English and the usage of public APIs; nothing in
// it belongs to one catalog.

// verbFamilies are the actions. Only words of one family stand for each
// other; the part after the dot is a sub-family, whose words are nearer to
// each other than to the rest of their family.
//
// A verb that stands in no group is a family of its own, and a word that
// stands nowhere at all is never bridged. Words that look alike but differ in
// effect (cancel and delete, archive and delete, publish and create) are kept
// apart on purpose.
var verbFamilies = []string{
	"read.list: list enumerate ls listing",
	"read.get: get fetch retrieve show view display describe inspect obtain",
	"read.content: read",
	"read.search: search find query locate filter discover",
	"read.any: lookup",
	"create: create add new make insert register",
	"create.issue: issue",
	"update: update edit modify change set patch alter revise amend adjust",
	"delete: delete remove drop destroy erase del rm unset",
	"clear: clear empty purge wipe flush",
	"run: run execute exec invoke",
	"start: start begin launch boot",
	"stop: stop end halt",
	"restart: restart reboot bounce",
	"copy: copy clone duplicate replicate",
	"move: move relocate mv",
	"take: take capture grab snap",
	"write: write overwrite save",
	"send: send post deliver transmit",
	"switch: switch checkout",
	"go: navigate goto visit go browse",
	"check: check verify validate assert",
	"complete: complete finish",
	"cancel: cancel abort",
	"kill: kill terminate",
	"enable: enable activate",
	"disable: disable deactivate",
	"choose: select choose pick",
	"click: click tap",
	"summarize: summarize summarise",
	"analyze: analyze analyse",
	"calculate: calculate compute calc",
	"convert: convert transform",
	"transcribe: transcribe",
	"reply: reply respond answer",
	"resume: resume continue unpause",
	"grant: grant permit",
	"revoke: revoke",
	"scrape: scrape crawl",
	"upgrade: upgrade",
	"reject: reject decline",
	"generate: generate",
	"build: build compile",
	"translate: translate",
	"wait: wait sleep",
	"attach: attach",
	"count: count",
	"subscribe: subscribe",
	"unsubscribe: unsubscribe",
	"follow: follow",
	"unfollow: unfollow",
	"snooze: snooze",
	"acknowledge: acknowledge ack",
	"synchronize: sync synchronize synchronise",
	"initialize: init initialize initialise",
	"authorize: authorize authorise",
	"reserve: reserve book",
	"pay: pay",
	"finalize: finalize finalise",
	"estimate: estimate forecast predict",
	"tweet: tweet",
	"hide: hide unhighlight_",
}

// loneVerbs are verbs that nothing else stands for.
const loneVerbs = `
accept access activate advance align allow transition toggle reprioritize allocate announce annotate append apply approve archive arrange ask assess assign
associate attest audit authenticate backup ban bind blame block bookmark bulk buy call charge checkin cherry classify clean cleanup click
clip close collapse collect combine comment commit compare compose compress confirm connect consume cordon correlate crop
debit debug decode decompile decompress decrypt deduplicate deny deploy deprecate detach detect diagnose diff disassemble disassociate
disconnect dislike dismiss dispatch download draft drag drain draw echo embed encode encrypt enqueue enrich enroll enter escalate
evaluate evict expand expire explain explore export expose extend extract fill finetune fix fork format forward freeze
glob grep group handle highlight hold hover identify ignore import increment decrement index infer ingest inject install instantiate
invite issue join kick label leave lease like link listen load lock log login logout mail manage map mark match measure
merge message migrate mint minimize mirror mock monitor mount mute name nominate notify offer open optimize order
organize pack parse pause ping pin plan play poll pop preview print prioritize process profile promote demote protect provision prune publish
pull push queue quit quote rank rate react rebase rebuild receive recommend reconcile record recover redeem redeliver redo reduce
refactor refer refresh refund reindex reinstall reload remember forget remind rename render renew reopen repair repeat replace replay report request
rerun rescale resend reset reschedule resize resolve restore retire retry return reveal revert review rewrite rewind
rollback rotate route sample sanitize scale scan schedule scroll seek sell share ship shorten shuffle sign signin signup silence simulate
skip solve sort speak split squash stage star stash stat step store stream strip submit suggest suppress suspend swap tag tail test
think touch track trade trace train transfer trash triage trigger trim trust try type unarchive unassign unban unbind unblock uncheck
uncordon undelete undeploy undo unfreeze unhide uninstall unlike unlink unlock unmark unmount unmute unpin unpublish unregister unresolve unroute
unshare unsilence unstage unstar unsuspend untag unwatch unzip zip upload upsert upvote downvote use vacuum visualize void vote
vectorize warm watch withdraw wrap
`

// commonVerbs are those of them that are frequent enough for their misspellings
// to be recognised.
var commonVerbs = setOf("upload download generate import export enable disable assign rename publish archive restore close open cancel move copy write send start stop run resolve approve reject attach detach install uninstall deploy validate verify analyze summarize translate convert calculate navigate select restart")

// nounVerbs are verbs that are at least as often the name of a thing. In front
// of an object they are an action (comment_issue); elsewhere they are a thing
// (issue_comment).
const nounVerbs = `
access alert audit backup ban bookmark branch call charge check comment commit copy count diff draft export feed filter find_ fork format
group hold import index invite_ issue issue label like link list_ lock log login logout mail map mark match mention merge_ message mock monitor name note
offer order pay_ permit pin plan play poll post preview print process profile pull push query queue quote rate react record refund_ reply report request reset
return review route run sample scan schedule script search_ share ship shift show sign silence snapshot sort split stage star start_ stash stat state status step store stream
submit suggestion swap switch tag tail task test touch trace track trade train transfer trash type update_ upgrade upload_ use view visit vote wait watch wrap issue
branch commit tag stage build release deploy_ file folder screenshot screen click step key mount scale book function forecast estimate block debit lease mirror pack patch measure trigger invite refund merge rollback clone fix clip crop embed echo trust hold transfer
`

// softRelated are families that are no bridge, but near enough to order
// suggestions by.
const softRelated = `
switch/choose restore/resume restore/start run/create open/show assign/manage unassign/manage complete/update create/update create/write write/create write/update store/create remember/create forget/delete test/check open/go open/read archive/update archive/delete restore/update
resolve/update acknowledge/update close/update reopen/update cancel/delete stop/cancel kill/stop kill/delete cancel/stop pay/create send/create submit/update submit/create submit/send
rename/update rename/move enter/type append/update append/write append/create publish/create publish/send publish/update upload/create upload/write upload/send import/create
download/read export/read load/read count/read extract/read scrape/read summarize/read analyze/read check/read clear/delete trash/delete archive/trash
assign/update unassign/update label/update tag/update move/update complete/update close/complete close/stop schedule/create reserve/create generate/create build/create compose/create draft/create
replace/update upsert/update upsert/create apply/update apply/create merge/update scale/update resize/update enable/update disable/update restart/start restart/stop
reset/clear reset/update invite/create invite/send share/send share/update attach/create link/create unlink/delete detach/delete revoke/delete uninstall/delete install/create reply/send comment/create comment/send reply/create
run/start trigger/run trigger/start call/run dispatch/run rerun/run retry/run evaluate/run ask/send ask/search message/send mail/send forward/send notify/send
increment/update issue/create mark/update watch/subscribe follow/subscribe log/create record/create track/read monitor/read watch/read
take/read explain/read compare/read diff/compare diff/read parse/read render/read render/take preview/read grep/search glob/search glob/list tail/read stat/read explore/read explore/search
void/cancel void/delete expire/delete expire/update disable/delete suspend/stop pause/stop resume/start provision/create allocate/create deploy/create deploy/update deploy/run
fill/type press/type click/press scroll/move choose/click estimate/calculate synchronize/update refresh/update refresh/synchronize
reserve/schedule convert/calculate transcribe/read echo/send play/start silence/create mute/silence snooze/silence snooze/update rate/create
`

// antonyms are pairs that undo each other. They never stand for each other,
// neither as a synonym nor as a typing error.
const antonyms = `
lock/unlock enable/disable add/remove star/unstar open/close start/stop begin/end install/uninstall attach/detach assign/unassign grant/revoke
pause/resume pin/unpin mute/unmute block/unblock follow/unfollow subscribe/unsubscribe watch/unwatch link/unlink connect/disconnect
approve/reject accept/decline accept/reject allow/deny publish/unpublish archive/restore archive/unarchive up/down in/out on/off from/to source/destination source/target push/pull
import/export upload/download read/write show/hide increase/decrease increment/decrement min/max minimum/maximum first/last head/tail before/after
opened/closed open/closed active/inactive public/private staged/unstaged visible/hidden forward/back next/previous join/leave encrypt/decrypt deploy/rollback
login/logout stage/unstage inbound/outbound incoming/outgoing local/remote mark/unmark check/uncheck expand/collapse input/output promote/demote buy/sell
deposit/withdraw upvote/downvote like/unlike like/dislike ban/unban hide/unhide mount/unmount bind/unbind encode/decode compress/decompress zip/unzip
tag/untag label/unlabel share/unshare freeze/unfreeze suspend/unsuspend cordon/uncordon backup/restore create/delete online/offline left/right top/bottom
credit/debit parent/child sender/receiver send/receive success/failure success/error passed/failed sync/async request/response key/value send/receive present/absent include/exclude
register/unregister associate/disassociate undelete/delete commit/revert trust/distrust train/test positive/negative asc/desc ascending/descending old/new older/newer
checkin/checkout sign/unsign signin/signout play/pause lock/release acquire/release ingress/egress upstream/downstream uplink/downlink question/answer
`

// sameThings are different spellings of one thing: abbreviations, spelling
// variants and fixed synonyms without a difference in meaning.
var sameThings = []string{
	"repository repo", "directory dir", "documentation docs", "document doc", "organization org organisation", "database db", "message msg", "configuration config cfg conf",
	"environment env", "namespace ns", "information info", "image img", "description desc", "parameter param", "variable var", "version ver",
	"application app", "number num", "statistic stat stats", "color colour", "favorite favourite", "catalog catalogue", "subscription sub",
	"reference ref", "attribute attr", "address addr", "authentication auth_", "certificate cert", "kubernetes k8s kube", "notification notif", "library lib",
	"package pkg", "temporary tmp temp", "request req", "response resp", "transaction tx txn", "language lang", "administrator admin", "specification spec",
	"javascript js", "typescript ts_", "multiple many multi batch bulk several", "project proj", "account acct", "command cmd", "average avg", "maximum max",
	"minimum min", "identifier id ident", "customer cust", "history hist", "pullrequest pr mergerequest mr pull_", "collection coll", "deployment deploy_", "execution exec_",
	"character char", "category cat_ cat", "error err", "function func fn", "object obj", "string str", "table tbl", "column col", "value val", "index idx",
	"position pos", "previous prev", "current curr cur", "original orig", "source src", "destination dest dst", "permission perm", "property prop", "resource res_",
	"region rgn", "session sess", "service svc", "server srv", "server_ svr", "system sys", "utility util", "timestamp ts", "timezone tz", "password passwd pwd",
	"operation op", "operator oper", "option opt", "manager mgr", "management mgmt", "department dept", "employee emp", "quantity qty", "temperature temp_",
	"latitude lat", "longitude lng lon long_", "coordinate coord", "distance dist", "telephone tel", "phone phone", "picture pic", "photograph photo", "video vid", "advertisement ad advert",
	"expression expr", "regularexpression regex regexp", "dependency dep", "development dev", "production prod", "staging stg", "architecture arch", "binary bin",
	"memory mem", "processor cpu", "virtualmachine vm", "loadbalancer lb elb", "securitygroup sg", "configmap cm", "persistentvolumeclaim pvc", "persistentvolume pv",
	"replicaset rs", "statefulset sts", "daemonset ds_", "serviceaccount sa_", "customresourcedefinition crd", "ingress ing_", "node nd_", "horizontalpodautoscaler hpa",
	"artificialintelligence ai", "userinterface ui", "knowledgebase kb", "knowledgegraph kg", "frequentlyaskedquestion faq", "questionandanswer qa", "pointofinterest poi",
	"datasource dsrc_", "estimatedtimeofarrival eta", "calendar cal", "appointment appt", "conversation convo", "invoice inv_", "opportunity opp", "purchaseorder po", "salesorder so_",
	"authorization authz", "credential cred creds", "generation gen_", "implementation impl", "initialization init_", "introduction intro", "laboratory lab", "limit lim_",
	"percentage pct percent", "probability prob", "proportion prop_", "recommendation rec_", "received recv", "registration reg_", "required reqd", "sequence seq", "standard std",
	"synchronization sync_", "technology tech", "vocabulary vocab", "volume vol", "window win_", "workspace ws_", "analytics analytic", "cancellation cancelation", "license licence", "center centre", "labeled labelled", "gray grey", "catalog_ catalogs_",
	"ticker symbol_", "metadata meta", "email mail e_mail", "todo task_ todos", "screenshot screencap", "webpage web_page", "website web_site", "hostname host_name", "filename file_name", "username user_name", "webhook web_hook",
	"setting setting", "preference pref prefs", "cluster clstr", "container ctr", "partition part_", "annotation annot", "bookmark bm_", "benchmark bench", "experiment exp_", "hypothesis hyp",
}

// nearThings are words that people exchange when they do not know which one a
// server has chosen. They differ in nuance, so each exchange costs, and a
// catalog that uses two words of one group keeps them apart.
//
// A word with a trailing underscore is only related: it is worth proposing what
// is named with it, and never running it.
var nearThings = []string{
	"directory folder", "information detail metadata", "information stat", "issue ticket bug_", "image picture photo photograph", "workflow pipeline_ automation_ flow", "self me myself whoami currentuser authenticateduser viewer",
	"channel room conversation_", "user member person_ people_ account_ profile_", "commit revision changeset", "url link uri href", "status state condition_ health_", "schema structure definition_",
	"configuration setting preference option_", "staged cached", "identifier uid uuid guid key_", "log history_ event_", "log message", "log output_", "coordinate xy", "contents content body_ text_", "file document_ attachment_", "documentation document_ doc_",
	"comment remark note_ reply_", "task todo item_ reminder_", "event meeting appointment", "calendar schedule_", "contact person people_", "company organization business account_", "deal opportunity", "lead prospect",
	"customer client buyer_", "product article_ item_", "order purchase_ purchaseorder_", "invoice bill", "payment charge_ transaction_", "refund reimbursement", "price quote cost_ rate_", "coupon voucher discount_ promocode_ promotion_", "subscription plan_ membership_",
	"employee staff worker", "team squad group_", "group_ role_ team_", "permission access_ right_", "role permission_", "label tag category_", "category type_ kind", "milestone sprint_ release_", "sprint iteration cycle", "epic initiative_",
	"board kanban project_", "project workspace_", "workspace team_ organization_", "branch ref_ head_", "tag_ release_ version_", "pullrequest changes_ patch_", "diff change comparison_", "contributor_ committer_ author_ collaborator_ member_",
	"author writer creator_", "owner assignee_", "reviewer approver_", "build job_ run_ pipeline_", "job task_ run_", "run execution", "artifact output_ asset_", "package module library_ dependency_", "vulnerability cve advisory_", "alert alarm incident_ notification_",
	"incident outage", "error exception failure issue_", "metric measurement timeseries", "trace span_", "dashboard panel_ board_", "chart graph plot diagram_", "monitor check_ probe_", "message post_ chat_ email_", "thread conversation_ topic_", "directmessage dm",
	"email mail message_", "inbox mailbox", "notification alert_", "database schema_", "table collection_ entity_", "row record entry", "column field", "field property attribute_", "statement query_ sql_", "view table_",
	"bucket container_ storage_", "object blob file_", "volume disk drive_", "instance vm virtualmachine machine server_ host_", "machine host node_", "container docker_", "pod container_ workload_", "service deployment_ application_", "application program service_", "deployment release_ rollout_", "secret credential_ password_",
	"function lambda method_", "policy rule_", "quota limit", "region zone_ location_", "domain zone_ website_", "page webpage document_", "website site webpage_ page_", "article post story_ page_", "block paragraph_ section_", "section chapter_ block_", "note memo", "notebook journal_",
	"paper publication article_ study_", "citation reference_", "book volume_", "topic subject theme_", "keyword term_ tag_", "concept_ entity_ node_ object_", "relation relationship edge link_ association", "observation fact", "node vertex entity_", "memory note_ fact_ knowledge_", "example sample", "template blueprint_", "form survey_ questionnaire_", "question prompt_", "answer response_ reply_",
	"video clip_ movie_", "movie film", "series show", "song track music_ audio_", "playlist album_", "artist musician", "audio sound recording_", "recording video_", "voice speaker_", "subtitle caption transcript_", "transcript transcription", "screenshot screen_ image_", "element component_ node_", "component widget", "tab page_", "window viewport screen_", "dropdown select_ option_",
	"console_ terminal shell command_", "script code_ command_ source_", "process program_", "location place venue position_ address_", "place poi", "route path_ direction_", "distance length_", "weather forecast_ temperature_", "forecast prediction", "flight trip_", "trip journey itinerary_", "hotel accommodation lodging", "booking reservation",
	"stock equity share_ ticker_", "symbol ticker stock_", "portfolio holding_ position_", "holding position", "trade order_ transaction_", "transaction trade_ payment_", "balance account_ wallet_", "currency_ money_", "financial finance", "news headline article_", "market exchange_", "earnings_ income_ profit_ revenue_", "statement_ report_", "report summary_ statement_", "candle ohlc bar_", "coin cryptocurrency crypto token_",
	"medication drug medicine", "doctor physician provider_", "exercise workout training_", "workout activity_", "meal food_", "recipe dish_", "course class_ lesson_", "student learner", "score grade_ rating_", "review rating_ feedback_ comment_",
	"device_ sensor_ entity_", "light lamp", "friend contact_", "like reaction_", "reaction emoji", "feed timeline history_", "history log_ timeline_ activity_", "activity event_ log_",
	"usage consumption", "spending expense cost_", "delivery shipment package_", "package parcel", "inventory stock", "supplier vendor", "warehouse location_", "cart basket",
	"result output_ response_", "argument parameter input_", "size_ length_ capacity_", "count_ total_ number_ sum_", "time clock datetime_ date_", "date day_ time_", "datetime timestamp", "duration length_ period_", "range period interval_", "health status_", "feature flag_", "flag toggle", "experiment test_", "case test_", "environment stage_", "step stage_ task_", "queue topic_", "webhook hook callback_", "endpoint api_ url_", "dataset data_ collection_", "embedding vector", "chunk passage",
	"severity priority_", "deadline duedate", "subtask subissue child_", "child descendant", "parent ancestor", "attachment file_ upload_", "avatar picture_", "icon logo_", "color palette_ theme_", "theme style_", "frame artboard", "design file_", "slide page_", "presentation slideshow deck", "spreadsheet workbook sheet_", "worksheet sheet tab_", "cell range_",
	"language locale", "country nation", "city town", "region state_", "ip address_", "network vpc", "firewall securitygroup_", "definition declaration", "reference usage_ citation_", "html markup", "tree hierarchy", "outline toc tree_",
	"roster list_ member_", "allowed permitted accessible", "recent latest last newest", "current present_ active_", "available supported existing_", "related similar", "popular trending top_", "assigned own_", "unread new_", "overdue late", "upcoming future next_", "completed done finished", "active running_ open_",
}

// commands are well-known one-word commands, spelled out.
var commands = map[string]string{
	"mkdir": "create directory", "ls": "list directory", "dir": "list directory", "rm": "delete file", "rmdir": "delete directory", "mv": "move file", "cp": "copy file",
	"cat": "read file", "stat": "get file info", "touch": "create file", "goto": "navigate", "ps": "list processes", "whoami": "get self", "pwd": "get current directory", "now": "get current time",
	"ping": "ping", "curl": "fetch url", "wget": "download url", "google": "search web", "websearch": "search web", "me": "get self", "today": "get current date", "sql": "run sql query", "grep": "search file content", "uptime": "get uptime",
}

// compounds are written as one word and as two. They count as one, so that
// "pull request" is no request.
const compounds = `
pull_request merge_request data_source data_set data_base data_frame time_zone time_stamp web_hook web_page web_site file_name user_name host_name path_name key_board key_word screen_shot
knowledge_base knowledge_graph load_balancer security_group config_map virtual_machine replica_set stateful_set daemon_set service_account direct_message due_date sub_task sub_issue
check_list time_line time_series play_list work_flow work_space work_book work_sheet spread_sheet slide_show news_letter white_board dash_board call_back back_up check_out check_in roll_back roll_out
book_mark local_storage session_storage purchase_order sales_order promo_code feature_flag log_in log_out sign_in sign_up sign_out e_mail on_call my_self tool_kit tool_box run_book play_book post_mortem
change_log note_book road_map stand_up life_cycle sub_domain sub_net name_space end_point code_base git_hub git_lab look_up set_up clean_up follow_up follow_ups double_click right_click drag_drop voice_mail air_port air_line
web_socket white_list black_list allow_list block_list deny_list head_line sub_title meta_data cron_job drop_down pop_up view_port cross_ref un_read text_box check_box point_of_interest real_time start_up data_point data_store current_user authenticated_user
`

// ordinary are words that mean something by themselves. A request that
// contains one of them is not a misspelling of a word that looks like it.
const ordinary = `
abstract acceptance account action active activity actual actor addition adapter admin advice age agenda agent agreement air alias alliance amount analysis analyst anchor angle animal answer
apartment appeal appearance approval area arena army array arrival art aspect assembly asset assignment assistant association attempt attention attendee attendance attitude audience author authority avatar average award
background bag balance ball band bandwidth bank banner bar barcode barrier base basis basket batch battery beach beacon bed behavior belt benefit bin binding bio bird birth bit bitcoin black blank blog blood blue board boat body bond bonus
boost border boss bot bottle bottom bound boundary bounty box brain branch brand bread break bridge brief brief broadcast broker brother brown browser bucket bucketlist budget buffer bug builder building bulletin bundle burn bus business buyer byte
cab cabinet cable cache cake camera camp campaign candidate canvas capability capital caption car carbon card cardinality care career cargo carrier case cash cast casting cell census central chain chair challenge chance chapter char chat chatbot
checkpoint chemical chess child chip choice circle citizen city claim clause client climate clinic clock cloud club clue coach coal coast code coffee coin cold colleague college color combination comfort common community comparison compartment competition
compiler complaint compliance component composer compound compressor compute concept concern concert conclusion condition conference confidence conflict connection connector consent console constant constraint construct consumer contact container
contest context contract contrast contribution control controller convention conversion cookie copyright core corner corporate correction corpus costume council counter country county couple courier court cover coverage crash creation creator credit crew crime crisis criteria critic crop cron cross
crowd crypto culture cup currency cursor curve custom cut cycle daemon damage danger dark data date dataset dawn day deadline deal dealer death debate debt debugger decade decision deck decline declaration decoration default defect defense deficit definition degree delay
delegate delta demand democracy demo density dentist deposit depth deputy desert design designer desk desktop detail detector developer device dialect dialog dialogue diary dictionary diet difference digest digit dimension dinner dinosaur disaster discipline discount
discovery discussion disease dish disk display dispute distribution district division dividend dock docker doctor dog dollar domain door dose double doubt downtime dozen draft dragon drama drawing dream dress drill drink drive driver drone drug duration dust duty
ear earnings earth ease east economy edge edition editor education effect effort egg election element elevation embedding emergency emoji emotion employer encounter encounter end enemy energy engine engineer entity entrance entrant entry envelope episode epoch equipment equity
escrow essay estate evening event evidence exam example exception excerpt exchange executive exhibit existence exit expansion expectation experience expert explorer exposure extension extent eye fabric face facility fact factor factory failure faith fall family fan farm fashion fault fax fear
feature fee feeling fence festival fiber fiction fiddle field fight figure film final finance finding finger finish fire firewall firm fish fitness fixture flag flame flash flat fleet flight flood floor flow flower fly focus food foot football force forecast foreign forest form formula
fortune forum foundation fraction fragment frame framework fraud free freedom freight frequency friday friend friendship front fruit fuel fund funding funnel fuse future galaxy gallery game gap garage garden gas gate gateway gather gauge gear gender gene genre gift gig girl glass glossary goal gold golf
government grade grain graph gravity green grid grocery ground growth guarantee guard guess guest guidance guide guild guideline guitar habit hair half hall hand handler handle harbor hardware hash hashtag hat hazard head header headline heading health heap heart heat heatmap height help hero hint hiring holiday home
honor hook hope horizon horse hospital host hotel hour house household housing human hunt hyper hypothesis ice icon idea ideal identity illness impact import impression incident income increase independence indicator individual industry inflation influence influencer infrastructure ingredient inhibitor initiative injury ink inning innovation
inquiry insert insight inspection inspector installation instance institution instruction instrument insurance integration intelligence intent interaction interest interface interval interview inventory investigation investment investor invitation invoice island item iteration itinerary jacket jar jet job joint journal journey judge judgment jury
juice kernel key kit kitchen knowledge lab labor lake lambda lamp land landing landscape lane laptop law lawyer layer layout lead leader leaderboard league learner lecture ledger leg legal legend lemma length lens lesson letter level library license life light limit line lineage lineup list listing literature liquidity
loan lobby local locale location locator lock log logic logo lookup loop loss lot lottery loyalty luck luggage lunch machine macro magazine magic mailbox mailing main maintainer maintenance major manager manifest manufacturer margin market marketing marketplace mask mass master matcher material math matrix matter maze meal meaning measure media
medication medicine medium meeting member membership memo memory mention menu merchant mesh meta meter method metric microphone middle migration milestone military mind mine minimum minor minute mirror missing mission mistake mix mobile mode model modem moderator modifier module moment monday money month monument mood moon morning mortgage motion motor mount mountain mouse mouth
movement movie museum music mutation mystery name nation nature network news newsletter night node noise north notary notebook notice notion novel number nurse nutrition object objective obligation observation observer occasion occupation ocean odds offer office officer offset oil onboarding opening opera operator opinion opportunity option orchestra order origin outage outcome outlet
outline output outlook overlay overview owner ownership pace packet page pain paint pair palette panel panic paper paragraph parcel parent park parking parser part participant particle partner partnership party pass passage passenger passport password past paste path patient patrol pattern payload payment payout payroll peace peak peer pen penalty pension people performance period
permission person persona perspective phase phone photo phrase physics picker picture piece pilot pipe pipeline pitch pixel pizza place plane planet plant plate platform player pleasure plot plugin pocket pod podcast poem poet point poison pole police policy pool population port portal portfolio portion portrait position post postcode posting pot potential power practice prayer precision preference premium
presence present presentation president press pressure price pride primary principle printer priority prison privacy private prize problem procedure proceeding processor procurement producer product profession professor profit program progress project projection prompt proof property proposal prospect protection protein protocol provider province proxy public publication publisher purchase purpose puzzle
quality quarter queen question quest quick quiz quota race radar radio rail rain range rank ranking rating ratio reach reaction reader reality realm reason receipt receiver recipe recipient recommendation reconciliation record recording recovery red reduction reel referee reference referral reflection region registry regression relation relationship relay release relevance reliability religion reminder remote
removal rent rental repair replica reply reporter representative reputation requirement rescue research reserve reservation resident residue resistance resolution resource respect response responsibility rest restaurant restriction result resume retailer retention retreat revenue reversal revision revolution reward rhythm rice rich ride right ring risk river road robot robots rock role roll roof room root rope roster round router
routine row royalty rule runtime runner sale sales salary salt sandbox satellite saving scale scenario scene scheduler schema scheme scholar school science scope score screen screening script sea seal season seat second secret section sector security seed segment selection selector self seller semester senate sender senior sense sensor sentence sentiment sequence series serial server service session settlement settings
setup shade shadow shape shard share shareholder sheet shelf shell shelter shift ship shipment shipping shirt shock shoe shop shopping shot shoulder show shower sick side sidebar sight signal signature significance silver single singer sister site situation size sketch skill skin sky slice slide slot slug smart smoke snapshot snippet snow soap social society socket software soil solution song sort soul sound source south space
speaker species specification spectrum speech speed spell spelling spend spirit split sponsor sport spot spread spring sprint square stack staff stadium stage stakeholder standard standings standup star state statement station statistic statue status stay step stock stone storage store storm story strategy stream street streak strength stress strike string strip stroke structure student studio study style subject submission subscriber
subset success suffix sugar suggestion suit suite sum summary summit sun supplier supply support surface surgeon surprise survey suspect sustainability sweep symbol symptom syntax synthesis system tab table tablet target tariff task taste tax taxi taxonomy teacher team tech technique technology teenager telemetry telephone television template temple tenant tendency tennis tension term terminal terms territory test testament text texture theater theme theory
therapy thing thread threat threshold throat ticket tide tie tier tile till timber time timeline timer title toast token tone tongue tool tooth topic topology total tour tournament tower town toxicity toy trace tracker trade tradition traffic trail trailer trainer training transaction transcript transform transition translation transport trash travel treasure treatment treaty tree trend trial tribe trigger trip trouble truck trunk trust truth tube tune turn
tutorial tweet twin type union unit universe university upload usage user utility vacation vaccine validator validity valley value van variable variant variation variety vault vector vehicle vendor venue verdict verification version vertex vessel victim victory video view viewer village violation violence virtual virus vision visit visitor visual vocabulary voice volume volunteer voter voucher vulnerability wage wait walk wall wallet wallpaper war warehouse
warning warranty waste watcher water wave way wealth weapon wear weather web webcam website wedding week weekend weight welcome welfare west wheel widget width wife wiki win wind window wine wing winner winter wire wish witness woman wood word worker workflow workload workout workplace workshop workspace world worth writer wrapper yard year yesterday yield youth zone zip zoom
redis postgres mysql sqlite mongo elastic kafka rabbit stripe slack github gitlab jira confluence linear notion asana trello zoom discord telegram teams outlook gmail drive dropbox box azure aws gcp lambda dynamo athena bigquery snowflake databricks spark airflow grafana prometheus loki tempo sentry datadog splunk pagerduty terraform ansible helm argo jenkins circle npm pypi cargo maven gradle python java golang rust ruby
name names first last full short long raw json xml csv yaml html markdown text plain rich deep quick fast slow safe unsafe strict main master default global local public private internal external shared personal custom generic specific basic advanced simple complex static dynamic auto manual daily weekly monthly yearly hourly recent latest current previous next pending active inactive open closed archived deleted draft final
`

// irregular maps plural forms that no rule gives to their singular.
var irregular = map[string]string{
	"people": "person", "children": "child", "indices": "index", "indexes": "index", "vertices": "vertex", "matrices": "matrix", "criteria": "criterion", "analyses": "analysis",
	"hypotheses": "hypothesis", "theses": "thesis", "men": "man", "women": "woman", "feet": "foot", "mice": "mouse", "movies": "movie", "cookies": "cookie", "series": "series", "news": "news",
	"species": "species", "media": "media", "data": "data", "metadata": "metadata", "axes": "axis", "crises": "crisis", "bases": "base", "databases": "database", "caches": "cache", "aliases": "alias", "canvases": "canvas", "buses": "bus",
	"leaves": "leave", "lives": "life", "shelves": "shelf", "halves": "half", "pies": "pie", "ties": "tie", "zombies": "zombie", "selfies": "selfie", "calories": "calorie", "statuses": "status", "viruses": "virus", "bonuses": "bonus", "campuses": "campus", "lenses": "lens", "gas": "gas", "gases": "gas",
	"responses": "response", "licenses": "license", "expenses": "expense", "purchases": "purchase", "releases": "release", "cases": "case", "phases": "phase", "phrases": "phrase", "courses": "course", "houses": "house", "warehouses": "warehouse", "pauses": "pause", "causes": "cause", "clauses": "clause", "uses": "use", "senses": "sense", "increases": "increase", "leases": "lease", "diseases": "disease", "exercises": "exercise", "franchises": "franchise", "enterprises": "enterprise", "nurses": "nurse", "horses": "horse", "verses": "verse", "reverses": "reverse", "universes": "universe", "purposes": "purpose",
	"sizes": "size", "prizes": "prize", "axis": "axis", "basis": "basis", "analysis": "analysis", "prs": "pr", "mrs": "mr", "dbs": "db", "vms": "vm", "ips": "ip", "ads": "ad", "pcs": "pc", "kbs": "kb", "qas": "qa", "pos": "pos", "https": "https", "dns": "dns", "aws": "aws", "ms": "ms", "os": "os", "ios": "ios", "sms": "sms", "css": "css", "rss": "rss", "gps": "gps", "tls": "tls", "ssl": "ssl", "vps": "vps", "cms": "cms", "sass": "sass", "devops": "devops", "kubernetes": "kubernetes", "redis": "redis", "postgres": "postgres", "jenkins": "jenkins", "analytics": "analytics", "metrics": "metric", "statistics": "statistic", "settings": "setting", "earnings": "earnings", "headquarters": "headquarters", "always": "always", "is": "is", "as": "as", "this": "this", "has": "has", "its": "its", "was": "was", "canvas": "canvas", "atlas": "atlas", "alias": "alias", "bias": "bias", "lens": "lens", "whois": "whois", "sentry": "sentry", "teams": "team", "xss": "xss", "ops": "ops", "nodejs": "nodejs", "js": "js", "ts": "ts", "rs": "rs", "ds": "ds", "ls": "ls", "ps": "ps", "ns": "ns", "ws": "ws", "sts": "sts", "todos": "todo", "photos": "photo", "videos": "video", "repos": "repo", "logos": "logo", "memos": "memo", "demos": "demo", "infos": "info", "heroes": "hero", "echoes": "echo", "potatoes": "potato", "tomatoes": "tomato", "queries": "query", "quizzes": "quiz", "grafana": "grafana", "k8s": "k8s", "s3": "s3", "apis": "api", "taxes": "tax", "goods": "goods", "means": "means", "contents": "content", "details": "detail", "docs": "docs", "stats": "stats", "creds": "creds", "prefs": "prefs", "ids": "id", "uuids": "uuid", "urls": "url",
}

// fillers change nothing when they are left out or added.
const fillers = `a an the of and or all this that its is it please`

// prepositions change what is asked for.
const prepositions = `with for in to on at by from into as via using within per about without before after since until between under over through against`

// directions say where to. They turn an action into another.
const directions = `back forward forwards backward up down left right next previous on off out away in`

// infos say that something about a thing is wanted, which is what fetching it
// gives.
const infos = `information info detail details data metadata meta`

// masses are the same in the singular and the plural.
const masses = `log stat statistic metric history detail information info content news data metadata usage setting preference configuration config permission status schedule health result`

// universals name whatever a server holds. A tool for them is worth proposing
// for a thing that has none of its own.
const universals = `resource object item entity entry record node document`

// generics name no object of their own: "issue details" is the issue.
const generics = `information info detail details data result item content contents entry object value list record metadata meta profile level overview`

// adjectives narrow what is asked for without naming an object.
const adjectives = `current new old all recent latest last first next previous default active own my our your their global local multiple single full complete entire`
